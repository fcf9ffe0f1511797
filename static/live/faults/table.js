// @ts-check
// What may be broken on the running engine, which the server wrote into the page where it allows that.

import { language } from "../../common/i18n.js";

const data = JSON.parse(document.getElementById("fault-data")?.textContent ?? "null");

export const isAllowed = data !== null;
/** kind -> { target, fields: [{name, kind, default, low, high, allowed}], name, what }; app/live/fault_service.py */
export const KINDS = data?.commands ?? {};
/** What the one-letter fields of SEND_MESSAGE_V2 are called elsewhere. */
export const HEADER_LETTERS = data?.header_letters ?? {};
export const NAME_SERVER = "name-server";

export const kindName = (kind) => KINDS[kind].name[language];
export const kindText = (kind) => KINDS[kind].what[language];
export const fieldOf = (kind, name) => KINDS[kind].fields.find((field) => field.name === name);
