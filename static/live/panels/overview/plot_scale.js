// @ts-check
// Scales of the plots. Latencies are logarithmic: one message that was read an hour late must not press the others to
// the ground. Rates and backlog are linear, and end where nearly all of their values do; what is higher is cut off at
// the top and named there.

/** Steps of the linear axes: whole numbers only, as the figures are whole. */
export const STEPS = Array.from({ length: 12 }, (_, decade) => [1, 2, 5].map((step) => step * 10 ** decade)).flat();

/** Fewer values above 0 than this are shown whole, and so is what happens in the last part of the time shown. */
const CUT_FROM_VALUES = 8;
const RECENT_SHARE = 0.05;
/** This share of the values that are not 0 lies below the usual height; so many times that is a spike. */
const USUAL_SHARE = 0.95;
const SPIKE_FACTOR = 2.5;
const AIR = 1.1;

/** The height of a linear plot of `columns` (highest values, null where there are none): at least `least`. */
export function roofOf(columns, least, isWhole = false) {
  const values = columns.flat().filter((value) => value > 0);
  const peak = values.reduce((most, value) => Math.max(most, value), 0);
  if (isWhole || values.length < CUT_FROM_VALUES) return Math.max(least, peak * AIR);
  const sorted = values.toSorted((a, b) => a - b);
  const recent = columns.flatMap((column) => column.slice(-Math.ceil(column.length * RECENT_SHARE)));
  const usual = Math.max(least, sorted[Math.floor(USUAL_SHARE * (sorted.length - 1))], ...recent.map(Number));
  return (peak > SPIKE_FACTOR * usual ? usual : Math.max(least, peak)) * AIR;
}

/** The spikes that stand out of the roof: index of each one's highest value, and the value. */
export function spikesOf(values, roof) {
  const spikes = [];
  let top = null;
  values.forEach((value, index) => {
    if (!(value > roof)) top = null;
    else if (top === null) spikes.push((top = { index, value }));
    else if (value > top.value) Object.assign(top, { index, value });
  });
  return spikes;
}

/** The end of a logarithmic axis: a power of ten above all values, at least `least`. */
export const powerAbove = (columns, least) =>
  10 ** Math.ceil(Math.log10(columns.flat().reduce((most, value) => Math.max(most, (value ?? 0) * AIR), least)));

/** The marks of a logarithmic axis; one that does not begin above 0 has none but its beginning. */
export function powersOfTen(_, __, least, most) {
  const powers = [least];
  while (least > 0 && powers.at(-1) < most) powers.push(powers.at(-1) * 10);
  return powers;
}

/** Places of the values that have none next to them. */
export const aloneIn = (values) =>
  [...values.keys()].filter((at) => values[at] != null && values[at - 1] == null && values[at + 1] == null);
