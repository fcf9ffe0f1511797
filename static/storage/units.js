// @ts-check
// What a stretch of a file is, in words.

import { clockTime } from "../common/format.js";
import { t } from "../common/i18n.js";

/** `unit`: {kind, values}, as app/storage/laboratory/file_units.py names them. */
export function unitText({ kind, values }) {
  const time = values.timestamp_ms ? clockTime(values.timestamp_ms, true) : "";
  return t(`storage.unit.${kind}`, { ...values, time });
}
