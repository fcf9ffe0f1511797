// Figures of the lab: virtual time to the microsecond, and texts that exist in two languages.

import { language, t } from "../i18n.js";

/** 12345678 -> "12.345 678": seconds, with a thin gap after the milliseconds. */
export function virtualTime(timeUs) {
  const whole = Math.max(0, Math.round(timeUs));
  const micro = String(whole % 1_000_000).padStart(6, "0");
  return `${Math.floor(whole / 1_000_000)}.${micro.slice(0, 3)}\u2009${micro.slice(3)}`;
}

/** A span: "850 µs", "2.5 ms", "20 s". */
export function span(us) {
  const value = Math.max(0, us);
  if (value < 1000) return `${Math.round(value)} µs`;
  if (value < 1_000_000) return `${trim(value / 1000)} ms`;
  return `${trim(value / 1_000_000)} s`;
}

const trim = (value) => String(value >= 100 ? Math.round(value) : Math.round(value * 10) / 10);

/** A text that the server sent in both languages, or in one. */
export const bilingual = (text) =>
  text === null || typeof text !== "object" ? (text ?? "") : (text[language] ?? text.en ?? "");

/** The field's name for a broken invariant: "ghost read" in the page's language. */
export const anomalyName = (anomaly) => t(`lab.anomaly.${anomaly.replaceAll(" ", "_")}`);

/** 0.01 -> "0.01×", 1000 -> "1000×" */
export const speedText = (speed) =>
  typeof speed !== "number" ? speed : `${speed >= 1 ? Math.round(speed * 10) / 10 : Number(speed.toPrecision(1))}×`;

/** 20000 -> "20 s": the numbers of RocketMQ's delay levels and leases. */
export const shortMs = (ms) => {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${trim(ms / 1000)}s`;
  return ms < 3_600_000 ? `${trim(ms / 60_000)}m` : `${trim(ms / 3_600_000)}h`;
};

/** Bytes that are not text as dots, as next to the bytes of a hex dump. */
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
export const printable = (text) => String(text).replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\ufffd]/g, "·");
