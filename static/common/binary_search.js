// @ts-check
// Finds a position in sorted entries by binary search.

/**
 * Index of the first entry that is not `isBefore`; how many there are if all are.
 *
 * @template Entry
 * @param {(entry: Entry) => boolean} isBefore
 * @param {ArrayLike<Entry>} entries
 */
export function firstNot(isBefore, entries) {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(entries[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * @param {ArrayLike<{ time: number }>} entries
 * @param {number} time
 */
export const firstAtOrAfter = (entries, time) => firstNot((entry) => entry.time < time, entries);
