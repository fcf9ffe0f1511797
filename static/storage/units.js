// @ts-check
// What a stretch of a file is, in words.

import { clockTime } from "../common/format.js";
import { t } from "../common/i18n.js";

/** @param {Pick<Picture.UnitOfFile, "kind" | "values">} unit */
export function unitText({ kind, values }) {
  const { timestamp_ms: ms } = values;
  const time = typeof ms === "number" && ms > 0 ? clockTime(ms * 1000, true) : "";
  return t(`storage.unit.${kind}`, { ...values, time });
}
