// @ts-check
// How quickly the time of two worlds passes by itself.

/**
 * The time that both show `seconds` after `now`, and why time passes at that rate: { time, why }. `ahead` is what each
 * says of the time ahead of it, { rate, until_us, why }: the slower one counts, up to where either says something else.
 *
 * @param {Picture.TimeAhead[]} ahead
 * @param {number} now
 * @param {number} seconds
 */
export function autoTime(ahead, now, seconds) {
  const first = ahead[0] ?? { rate: 1, why: "" };
  const slowest = ahead.reduce((one, other) => (other.rate < one.rate ? other : one), first);
  const ends = ahead.map((one) => one.until_us).filter((end) => end > now);
  return { time: Math.min(now + seconds * 1_000_000 * slowest.rate, ...ends), why: slowest.why };
}
