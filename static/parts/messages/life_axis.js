// @ts-check
// Positions on the lanes of messages' lives: plain functions of times and widths.
//
// A message is sent, stored and delivered within milliseconds and then waits for seconds or hours. Where nothing
// happens for long the axis may therefore be broken: such a gap is drawn shorter than it is, and says how long it was.

import { firstNot } from "../../common/binary_search.js";

/** A gap is long when it is this many times longer than nine in ten of the others. */
const LONG_TIMES = 4;
const LEAST_LONG_US = 1_000;

/** An axis from the first to the last of `times` (in us). `isBroken`: long gaps are drawn shorter. */
export function axisOf(times, isBroken) {
  const points = [...new Set(times)].sort((a, b) => a - b);
  const gaps = points.slice(1).map((time, index) => time - points[index]);
  const long = isBroken ? longFrom(gaps) : Infinity;
  const lengths = gaps.map((gap) => (gap <= long ? gap : long * (1 + Math.log10(gap / long))));
  const starts = [0];
  for (const length of lengths) starts.push(starts[starts.length - 1] + length);
  const whole = Math.max(1, starts[starts.length - 1]);
  const breaks = gaps.flatMap((gap, index) =>
    gap > long ? [{ from: points[index], gap, left: starts[index] / whole, right: starts[index + 1] / whole }] : [],
  );
  return { points, starts, whole, breaks };
}

function longFrom(gaps) {
  const sorted = gaps.toSorted((a, b) => a - b);
  return Math.max(LEAST_LONG_US, LONG_TIMES * (sorted[Math.floor(0.9 * (sorted.length - 1))] ?? 0));
}

/** The share of the axis, from 0 to 1, before `time`. */
export function shareOf({ points, starts, whole }, time) {
  if (points.length < 2 || time <= points[0]) return 0;
  if (time >= points[points.length - 1]) return 1;
  const next = firstNot((point) => point <= time, points);
  const before = next - 1;
  const within = (time - points[before]) / (points[next] - points[before]);
  return (starts[before] + within * (starts[next] - starts[before])) / whole;
}

/** The time at a share of the axis. */
export function timeAt({ points, starts, whole }, share) {
  const at = share * whole;
  let index = starts.findIndex((start) => start >= at);
  if (index <= 0) index = Math.min(1, points.length - 1);
  const before = index - 1;
  if (before < 0) return points[0] ?? 0;
  const within = (at - starts[before]) / Math.max(1e-9, starts[index] - starts[before]);
  return points[before] + within * (points[index] - points[before]);
}

/**
 * Places `items` ({ from, to, least }: times in us and the least width in pixels, in the order of `from`) on a lane of
 * `width` pixels, so that none covers another: what would is moved to the right, or all is moved closer together.
 * Returns [{ left, width }].
 */
export function placed(items, axis, width) {
  const needed = items.reduce((sum, item) => sum + item.least, 0);
  const shrink = Math.min(1, width / Math.max(1, needed));
  const places = [];
  let cursor = 0;
  for (const item of items) {
    const least = item.least * shrink;
    const left = Math.max(cursor, shareOf(axis, item.from) * width);
    const right = Math.max(left + least, item.to === null ? left : shareOf(axis, item.to) * width);
    places.push({ left, right, least });
    cursor = left + least;
  }
  // What was moved beyond the end comes back, and with it what is in its way.
  let limit = width;
  for (let index = places.length - 1; index >= 0; index -= 1) {
    const place = places[index];
    if (place.left + place.least > limit) place.left = Math.max(0, limit - place.least);
    place.right = Math.min(
      Math.max(place.right, place.left + place.least),
      index === places.length - 1 ? width : Math.max(places[index + 1].left, place.left + place.least),
    );
    limit = place.left;
  }
  return places.map(({ left, right }) => ({ left, width: right - left }));
}
