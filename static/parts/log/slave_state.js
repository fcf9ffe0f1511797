// @ts-check
// How a slave stands to its master, in words.

import { t } from "../../common/i18n.js";

/** @type {Record<string, string>} */
const STATES = { follows: "follows", "not connected": "apart" };

/** @param {Picture.Replication} part */
export const slaveState = (part) => t(`lab.replication.slave_${STATES[part.waits_for] ?? "refused"}`);
