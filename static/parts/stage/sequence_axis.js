// @ts-check
// The axis of a sequence diagram: where nothing happened for long it is broken, and says how long that was.

import { firstNot } from "../../common/binary_search.js";

/** A gap that is this many times as long as a flight is marked; the longer the gap, the less each microsecond counts.
 * */
const GAP_FLIGHTS = 6;
const GAP_GROWTH = 0.35;

/** [{ us, at, gap }]: the moments and their place from 0 to 1; a long gap takes little more room than a flight. */
export function axisOf(moments, flightUs) {
  const sorted = [...new Set(moments)].sort((a, b) => a - b);
  let sum = 0;
  const places = sorted.map((us, index) => {
    const gap = index === 0 ? 0 : us - sorted[index - 1];
    sum += gap <= flightUs ? gap : flightUs * (1 + GAP_GROWTH * Math.log2(gap / flightUs));
    return { us, at: sum, gap: gap > GAP_FLIGHTS * flightUs ? gap : 0 };
  });
  for (const place of places) place.at = sum > 0 ? place.at / sum : 1;
  return places;
}

/** The position of a moment on the axis, from 0 to 1; outside of it less or more. */
export function placeOf(points, us) {
  if (points.length === 0) return -0.02;
  const last = points[points.length - 1];
  if (us <= points[0].us) return us < points[0].us ? -0.02 : 0;
  if (us >= last.us) return us > last.us ? 1.02 : 1;
  const next = firstNot((point) => point.us <= us, points);
  const [before, behind] = [points[next - 1], points[next]];
  return before.at + ((us - before.us) / Math.max(1, behind.us - before.us)) * (behind.at - before.at);
}
