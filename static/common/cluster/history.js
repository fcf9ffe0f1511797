// @ts-check
// The last ten minutes of rates and of the backlog, one entry per second, as columns: the form that uPlot draws without
// conversion. What is older is asked of the server (panels/overview/plot_range.js).

export const HISTORY_SECONDS = 600;

const SERIES = [
  "in_messages",
  "out_messages",
  "in_bytes",
  "out_bytes",
  "put_p50_us",
  "put_p99_us",
  "deliver_p50_ms",
  "deliver_p99_ms",
  "backlog",
];

/** @typedef {(number | null)[]} Column */
/** @typedef {{ seconds: number[], [series: string]: Column }} History */

/** @type {History} */
export const EMPTY_HISTORY = { seconds: [], ...Object.fromEntries(SERIES.map((name) => [name, []])) };

/**
 * Latencies of a second without messages are no zeros: there was nothing to measure.
 *
 * @type {Record<string, string>}
 */
const MEASURED_ON = {
  put_p50_us: "in_messages",
  put_p99_us: "in_messages",
  deliver_p50_ms: "out_messages",
  deliver_p99_ms: "out_messages",
};

/**
 * The value of one second, or null.
 *
 * @param {string} name
 * @param {(column: string) => number | null | undefined} of That second's figures.
 */
function valueOf(name, of) {
  return name in MEASURED_ON && !of(MEASURED_ON[name]) ? null : (of(name) ?? null);
}

/**
 * A latency or rate of the last second, null where nothing was measured.
 *
 * @param {Partial<Picture.Rates>} rates
 * @param {string} name
 */
export const rateOf = (rates, name) => valueOf(name, (column) => /** @type {any} */ (rates)[column]);

/**
 * The history of a snapshot from the start of the broker on (before it there was nothing to count), whatever it
 * leaves out filled with nulls (a gap in the plot).
 *
 * @param {{ begin_us?: number[], [series: string]: Column | undefined } | null} [sent]
 * @param {number} startedMs
 * @returns {History}
 */
export function historyOf(sent, startedMs = 0) {
  const seconds = (sent?.begin_us ?? [])
    .map((us) => us / 1e6)
    .filter((second) => second >= Math.floor(startedMs / 1000))
    .slice(-HISTORY_SECONDS);
  const start = (sent?.begin_us?.length ?? 0) - seconds.length;
  const columns = SERIES.map((name) => [
    name,
    seconds.map((_, index) => valueOf(name, (column) => sent?.[column]?.[start + index])),
  ]);
  return { seconds, ...Object.fromEntries(columns) };
}

/**
 * @param {History} history
 * @param {number} second
 */
function before(history, second) {
  const end = history.seconds.findLastIndex((known) => known < second) + 1;
  const columns = Object.entries(history).map(([name, column]) => [name, column.slice(0, end)]);
  return /** @type {History} */ (Object.fromEntries(columns));
}

/** A second more or less may be late; more than this is a gap, and the line breaks. */
const GAP_SECONDS = 3;

/**
 * The history with one more second; the same object when that second is there already.
 *
 * @param {History} history
 * @param {Partial<Picture.Rates>} [rates]
 * @returns {History}
 */
export function withSecond(history, rates) {
  const last = history.seconds.at(-1) ?? -Infinity;
  const second = (rates?.begin_us ?? NaN) / 1e6;
  if (second < last) return withSecond(before(history, second), rates); // the broker's clock was set back
  if (!rates || !(second > last)) return history;
  // More than ten minutes without a second (a laptop that slept): the old part would only squeeze the new.
  const kept = second - last > HISTORY_SECONDS ? EMPTY_HISTORY : history;
  const isGap = kept.seconds.length > 0 && second - last > GAP_SECONDS;
  /** @type {<Value>(column: Value[], value: Value, between: Value) => Value[]} */
  const extend = (column, value, between) => [...column, ...(isGap ? [between] : []), value].slice(-HISTORY_SECONDS);
  const columns = SERIES.map((name) => [name, extend(kept[name], rateOf(rates, name), null)]);
  return { seconds: extend(kept.seconds, second, last + 1), ...Object.fromEntries(columns) };
}
