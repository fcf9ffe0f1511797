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

export const EMPTY_HISTORY = Object.fromEntries([["seconds", []], ...SERIES.map((name) => [name, []])]);

/** Latencies of a second without messages are no zeros: there was nothing to measure. */
const MEASURED_ON = {
  put_p50_us: "in_messages",
  put_p99_us: "in_messages",
  deliver_p50_ms: "out_messages",
  deliver_p99_ms: "out_messages",
};

/** The value of one second, null where there is none; `of(name)` gives that second's figures. */
function valueOf(name, of) {
  return name in MEASURED_ON && !of(MEASURED_ON[name]) ? null : (of(name) ?? null);
}

/** A latency or rate of the last second, null where nothing was measured. */
export const rateOf = (rates, name) => valueOf(name, (column) => rates[column]);

/**
 * The history of a snapshot from the start of the broker on (before it there was nothing to count), whatever it
 * leaves out filled with nulls (a gap in the plot).
 */
export function historyOf(sent, startedMs = 0) {
  const seconds = (sent?.seconds ?? [])
    .filter((second) => second >= Math.floor(startedMs / 1000))
    .slice(-HISTORY_SECONDS);
  const start = (sent?.seconds?.length ?? 0) - seconds.length;
  const columns = SERIES.map((name) => [
    name,
    seconds.map((_, index) => valueOf(name, (column) => sent[column]?.[start + index])),
  ]);
  return Object.fromEntries([["seconds", seconds], ...columns]);
}

function before(history, second) {
  const end = history.seconds.findLastIndex((known) => known < second) + 1;
  return Object.fromEntries(Object.entries(history).map(([name, column]) => [name, column.slice(0, end)]));
}

/** A second more or less may be late; more than this is a gap, and the line breaks. */
const GAP_SECONDS = 3;

/** The history with one more second; the same object when that second is there already. */
export function withSecond(history, rates) {
  const last = history.seconds.at(-1) ?? -Infinity;
  if (rates?.second < last) return withSecond(before(history, rates.second), rates); // the broker's clock was set back
  if (!rates || !(rates.second > last)) return history;
  // More than ten minutes without a second (a laptop that slept): the old part would only squeeze the new.
  const kept = rates.second - last > HISTORY_SECONDS ? EMPTY_HISTORY : history;
  const isGap = kept.seconds.length > 0 && rates.second - last > GAP_SECONDS;
  const extend = (column, value, between) =>
    [...column, ...(isGap ? [between] : []), value ?? null].slice(-HISTORY_SECONDS);
  const columns = SERIES.map((name) => [name, extend(kept[name], rateOf(rates, name), null)]);
  return Object.fromEntries([["seconds", extend(kept.seconds, rates.second, last + 1)], ...columns]);
}
