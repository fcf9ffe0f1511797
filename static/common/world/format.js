// @ts-check
// Figures of the lab: virtual time to the microsecond, and texts that exist in two languages.

import { language, t } from "../i18n.js";

/**
 * 12345678 -> "12.345 678": seconds, with a thin gap after the milliseconds.
 *
 * @param {number} timeUs
 */
export function virtualTime(timeUs) {
  if (!Number.isFinite(timeUs)) return "–";
  const whole = Math.max(0, Math.round(timeUs));
  const micro = String(whole % 1_000_000).padStart(6, "0");
  return `${Math.floor(whole / 1_000_000)}.${micro.slice(0, 3)}\u2009${micro.slice(3)}`;
}

/**
 * A span: "850 µs", "2.5 ms", "20 s".
 *
 * @param {number} us
 */
export const span = (us) => inUnits(Math.max(0, Math.round(us)), { " µs": 1000, " ms": 1000, " s": Infinity });

/**
 * A number in the first unit of which fewer are shown than make one of the next.
 *
 * @param {number} value
 * @param {Record<string, number>} units How many of each make one of the next.
 */
function inUnits(value, units) {
  let shown = value;
  for (const [unit, most] of Object.entries(units)) {
    const rounded = shown >= 100 ? Math.round(shown) : Math.round(shown * 10) / 10;
    if (rounded < most) return `${rounded}${unit}`;
    shown /= most;
  }
  return "–";
}

/**
 * A text that the server sent in both languages, or in one.
 *
 * @param {Picture.Words | string | null} [text]
 * @returns {string}
 */
export const bilingual = (text) =>
  text === null || typeof text !== "object" ? (text ?? "") : (text[language] ?? text.en ?? "");

/**
 * The field's name for a broken invariant: "ghost read" in the page's language.
 *
 * @param {string} anomaly
 */
export const anomalyName = (anomaly) => t(`lab.anomaly.${anomaly.replaceAll(" ", "_")}`);

/**
 * 0.01 -> "0.01×", 1000 -> "1000×"
 *
 * @param {number | string} speed
 */
export const speedText = (speed) =>
  typeof speed !== "number" ? speed : `${speed >= 1 ? Math.round(speed * 10) / 10 : Number(speed.toPrecision(1))}×`;

/**
 * 20000 -> "20 s": the numbers of RocketMQ's delay levels and leases.
 *
 * @param {number} ms
 */
export const shortMs = (ms) => inUnits(Math.round(ms), { ms: 1000, s: 60, m: 60, h: Infinity });

/**
 * Bytes that are not text as dots, as next to the bytes of a hex dump.
 *
 * @param {unknown} text
 */
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
export const printable = (text) => String(text).replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\ufffd]/g, "·");

/**
 * An offset where there is room for few digits; that some are left out in front is said: 12741 -> "…741".
 *
 * @param {number} offset
 * @param {number} most
 * @param {number} kept
 */
export function shortOffset(offset, most = 4, kept = 3) {
  const digits = String(offset);
  return digits.length <= most ? digits : `…${digits.slice(-kept)}`;
}
