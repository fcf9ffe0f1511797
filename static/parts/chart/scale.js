// @ts-check
// Scales of the charts. Latencies are logarithmic: one message that was read an hour late must not press the others to
// the ground. Rates and backlog are linear, and end where nearly all of their values do; what is higher is cut off at
// the top and named there.

/** @typedef {(number | null | undefined)[]} Column The highest values, where there are any. */

/** Steps of the linear axes: whole numbers only, as the figures are whole. */
export const STEPS = Array.from({ length: 12 }, (_, decade) => [1, 2, 5].map((step) => step * 10 ** decade)).flat();

/** Steps of the clock in seconds: a label where there is room for one, not only every five minutes. */
export const CLOCK_STEPS = [1, 2, 5, 10, 15, 30]
  .flatMap((step) => [step, step * 60])
  .concat([1, 2, 3, 6, 12].map((hours) => hours * 3600))
  .sort((a, b) => a - b);

/** Fewer values above 0 than this are shown whole, and so is what happens in the last part of the time shown. */
const CUT_FROM_VALUES = 8;
const RECENT_SHARE = 0.05;
/** This share of the values that are not 0 lies below the usual height; so many times that is a spike. */
const USUAL_SHARE = 0.95;
const SPIKE_FACTOR = 2.5;
const AIR = 1.1;

/** The height of a linear plot of `columns`: at least `least`. @param {Column[]} columns @param {number} least */
export function roofOf(columns, least, isWhole = false) {
  const values = columns.flat().flatMap((value) => (value && value > 0 ? [value] : []));
  const peak = values.reduce((most, value) => Math.max(most, value), 0);
  if (isWhole || values.length < CUT_FROM_VALUES) return Math.max(least, peak * AIR);
  const sorted = values.toSorted((a, b) => a - b);
  const recent = columns.flatMap((column) => column.slice(-Math.ceil(column.length * RECENT_SHARE)));
  const usual = Math.max(least, sorted[Math.floor(USUAL_SHARE * (sorted.length - 1))], ...recent.map(Number));
  return (peak > SPIKE_FACTOR * usual ? usual : Math.max(least, peak)) * AIR;
}

/** The spikes that stand out of the roof: index of each one's highest value, and the value.
    @param {Column} values @param {number} roof */
export function spikesOf(values, roof) {
  /** @type {{ index: number, value: number }[]} */
  const spikes = [];
  /** @type {{ index: number, value: number } | null} */
  let top = null;
  values.forEach((value, index) => {
    if (value == null || !(value > roof)) top = null;
    else if (top === null) spikes.push((top = { index, value }));
    else if (value > top.value) Object.assign(top, { index, value });
  });
  return spikes;
}

/** The end of a logarithmic axis: a power of ten above all values, at least `least`.
    @param {Column[]} columns @param {number} least */
export function powerAbove(columns, least) {
  const heights = columns.flat().map((value) => (value ?? 0) * AIR);
  return 10 ** Math.ceil(Math.log10(heights.reduce((most, height) => Math.max(most, height), least)));
}

/** The marks of a logarithmic axis; one that does not begin above 0 has none but its beginning.
    @param {unknown} _ @param {unknown} __ @param {number} least @param {number} most */
export function powersOfTen(_, __, least, most) {
  const powers = [least];
  for (let power = least; least > 0 && power < most;) powers.push((power *= 10));
  return powers;
}

/** Places of the values that have none next to them. @param {Column} values */
export const aloneIn = (values) =>
  [...values.keys()].filter((at) => values[at] != null && values[at - 1] == null && values[at + 1] == null);

/** A clock without a wish of its own shows at least so many seconds: few points must not all have the same time. */
const CLOCK_LEAST_S = 8;
const PLACE_LEAST = 0.1;

/**
 * What an x axis shows: its stretch, or all of its places; those of a clock at the right, a place alone in the middle.
 * @param {import("./model.js").AcrossAxis} axis
 * @returns {[number, number]}
 */
export function acrossRange({ places, kind, isLog, range, least = CLOCK_LEAST_S }) {
  if (range) return [range.from, range.to];
  if (places.length === 0) return isLog ? [1, 10] : [0, 1];
  const [first, last] = [places[0], places[places.length - 1]];
  if (kind === "clock") return [Math.min(first, last - least), last];
  if (isLog) {
    const low = powerBelow(first);
    return [low, Math.max(10 * low, 10 ** Math.ceil(Math.log10(Math.max(last, PLACE_LEAST))))];
  }
  return first === last ? [first - 1, last + 1] : [first, last];
}

/** The power of ten at or below a value; a logarithmic axis begins nowhere lower than at 0.1. @param {number} value */
export const powerBelow = (value) => 10 ** Math.floor(Math.log10(Math.max(value, PLACE_LEAST)));

/** Between a label of an axis and the plot: the tick and uPlot's gap. */
const LABEL_GAP = 9;

/**
 * The room that an upright axis needs next to the plot: every label is whole, however long, and usual ones all have the
 * same, so that plots below each other begin at one place.
 *
 * @param {string[]} labels
 * @param {(text: string) => number} widthOf
 * @param {number} size Of the letters.
 */
export const labelRoom = (labels, widthOf, size) =>
  Math.ceil(Math.max(4 + 5.2 * size, ...labels.map((label) => LABEL_GAP + widthOf(label))));
