// @ts-check
// The places of a queue's newest entries in a row of cells, and of its readers' flags over them.

import { greatestLag } from "./readers.js";

/**
 * `cell`: over which one it stands, or after the last one; `isBefore`: it belongs before all that is drawn.
 * @typedef {{ reader: import("./readers.js").Reader, cell: number, isBefore: boolean }} Flag
 */

/** `older`: how many entries are not drawn. `readTo`: all groups have committed what is before it.
    @param {import("./lane.js").LaneProps["queue"]} queue @param {import("./readers.js").Reader[]} readers
    @param {number} most cells */
export function cellRow(queue, readers, most) {
  const { min, max } = queue;
  const entries = "entries" in queue ? queue.entries.slice(-most) : [];
  const first = entries[0]?.queue_offset ?? max;
  const lag = greatestLag(readers);
  const flags = readers.map((reader) => {
    const isBefore = reader.offset < first;
    return { reader, cell: isBefore ? 0 : Math.min(reader.offset, max) - first, isBefore };
  });
  return { entries, older: Math.max(0, first - min), readTo: lag === null ? 0 : max - lag, flags };
}
