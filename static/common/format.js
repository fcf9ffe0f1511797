// @ts-check
// Numbers, sizes and times in readable form. Every figure on the page goes through here.

import { language } from "./i18n.js";

const locale = language === "zh" ? "zh-CN" : "en";
const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 3 });
const precise = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });

/** @typedef {number | null | undefined} Figure NaN, too, is an unknown one. */

/** @type {(value: Figure) => value is null | undefined} */
const isUnknown = (value) => value == null || Number.isNaN(value);

/**
 * 1234567 -> "1,234,567"
 *
 * @param {Figure} value
 */
export function count(value) {
  return isUnknown(value) ? "–" : whole.format(value);
}

/**
 * 1234567 -> "1.23M" (English), "123万" (Chinese); whole below 10,000.
 *
 * @param {Figure} value
 */
export function compact(value) {
  if (isUnknown(value)) return "–";
  return Math.abs(Math.round(value)) < 10_000 ? whole.format(value) : short.format(value);
}

/**
 * A figure in a column: whole where it has room, otherwise short. No digit is ever cut off.
 *
 * @param {Figure} value
 * @param {number} most Characters.
 */
export function fitted(value, most) {
  const text = count(value);
  return isUnknown(value) || text.length <= most ? text : short.format(value);
}

/**
 * 1536 -> "1.54 kB", powers of 1,000 as disk and network figures use them.
 *
 * @param {Figure} value
 */
export const bytes = (value) => inUnits(value, ["B", "kB", "MB", "GB", "TB"]);

/**
 * Microseconds with the unit that suits: "85 µs", "1.24 ms", "2.1 s".
 *
 * @param {Figure} value
 */
export const microseconds = (value) => inUnits(value, ["µs", "ms", "s"]);

/**
 * A figure in the first unit in which less than a thousand is shown.
 *
 * @param {Figure} value
 * @param {string[]} units Each is a thousand of the one before it.
 */
function inUnits(value, units) {
  if (isUnknown(value)) return "–";
  let scaled = value;
  let unit = 0;
  for (; Math.abs(Number(scaled.toPrecision(3))) >= 1000 && unit < units.length - 1; unit += 1) scaled /= 1000;
  return `${(unit === 0 ? whole : precise).format(scaled)} ${units[unit]}`;
}

/**
 * The same from whole milliseconds; a zero keeps the unit that it was measured in.
 *
 * @param {Figure} value
 */
export function milliseconds(value) {
  if (value === 0) return "0 ms";
  return isUnknown(value) ? "–" : microseconds(value * 1000);
}

/**
 * Dots for the pictures of control characters, such as ␁ and ␂ between properties: many fonts lack them.
 *
 * @param {unknown} text
 */
export function withDots(text) {
  return String(text).replace(/[\u2400-\u2421]/g, "·");
}

/**
 * A span of time, coarse: "12 s", "3 min", "2 h 5 min".
 *
 * @param {Figure} value Milliseconds.
 */
export function span(value) {
  if (isUnknown(value)) return "–";
  const seconds = Math.max(0, Math.round(value / 1000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/**
 * Ranges of numbers, both ends in them: "3, 5–7, …".
 *
 * @param {number[][]} ranges
 * @param {number} most Ranges.
 */
export function rangesText(ranges, most = Infinity) {
  const shown = ranges.slice(0, most).map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`));
  return [...shown, ...(ranges.length > most ? ["…"] : [])].join(", ");
}

/** @param {number} value */
const two = (value) => String(value).padStart(2, "0");

/**
 * 14:03:27 (or 14:03:27.512) on this machine's clock.
 *
 * @param {number} us Since 1970.
 */
export function clockTime(us, withMilliseconds = false) {
  const date = new Date(us / 1000);
  if (!(us > 0) || Number.isNaN(date.getTime())) return "–"; // a damaged record may have any time
  const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return withMilliseconds ? `${text}.${String(date.getMilliseconds()).padStart(3, "0")}` : text;
}

/**
 * 2026-11-22 14:03:27, or with milliseconds, on this machine's clock; of today only the time. Times that are days old
 * must say so.
 *
 * @param {number} us Since 1970.
 */
export function dateTime(us, withMilliseconds = false) {
  const day = dayOf(us);
  const time = clockTime(us, withMilliseconds);
  return time === "–" || day === dayOf(Date.now() * 1000) ? time : `${day} ${time}`;
}

/**
 * The local day: "2026-11-22".
 *
 * @param {number} us Since 1970.
 */
function dayOf(us) {
  const date = new Date(us / 1000);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/**
 * RocketMQ's version number (an ordinal of MQVersion) as its users know it, where it is a common one.
 *
 * @param {number} ordinal
 */
export function clientVersion(ordinal) {
  /** @type {Record<number, string>} */
  const known = { 63: "3.1.8", 253: "4.2.0", 273: "4.3.0", 393: "4.9.0", 401: "4.9.4", 409: "4.9.8", 413: "5.0.0" };
  return known[ordinal] ?? `#${ordinal}`;
}

/**
 * The smallest step of an axis of 1, 2 or 5 times a power of ten that is not below `least`; otherwise 1.
 *
 * @param {number} least
 */
export function roundStep(least) {
  if (!(least > 0)) return 1;
  const decade = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * decade).find((step) => step >= least) ?? 10 * decade;
}

/**
 * A key or tag as typed, without spaces around it. Other blanks, full-width ones too, are part of a key.
 *
 * @param {FormDataEntryValue | null} text What a form has of its field.
 */
export const typedKey = (text) => String(text ?? "").replace(/^ +| +$/g, "");
