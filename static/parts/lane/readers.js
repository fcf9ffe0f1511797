// @ts-check
// The readers of a queue, consumer groups and jobs on Spark, and how far each lags.

import { lagAt } from "../../common/topics.js";

/** @typedef {import("../../common/topics.js").Offsets} Offsets */

/**
 * `key`: of kind and name. `offset`: the next one that it reads.
 * @typedef {{ kind: "group" | "spark", name: string, key: string, offset: number, lag: number }} Reader
 */

/** @param {Reader["kind"]} kind @param {Offsets} offsets @param {number} max The end of the queue.
    @returns {Reader[]} */
const readersOfKind = (kind, offsets, max) =>
  Object.entries(offsets).map(([name, offset]) => ({
    kind,
    name,
    key: `${kind} ${name}`,
    offset,
    lag: lagAt(offset, max),
  }));

/** The groups in the given order, then the jobs on Spark.
    @param {Pick<Picture.Queue, "max" | "committed">} queue @param {Picture.LaneSource["order"]} order
    @param {Offsets} [reached] Of jobs. */
export function readersOf({ max, committed }, order, reached = {}) {
  const groups = readersOfKind("group", committed, max).sort((one, other) => order(one.name, other.name));
  return [...groups, ...readersOfKind("spark", reached, max)];
}

/** The group that lags most, if one lags. What a job on Spark has not read is no backlog: it takes no message away from
    anybody.
    @param {Reader[]} readers @returns {Reader | undefined} */
export const slowestGroup = (readers) =>
  readers.reduce(
    (most, one) => (one.kind === "group" && one.lag > (most?.lag ?? 0) ? one : most),
    /** @type {Reader | undefined} */ (undefined),
  );

/** The lag of that group; null without groups. @param {Reader[]} readers */
export const greatestLag = (readers) =>
  readers.some(({ kind }) => kind === "group") ? (slowestGroup(readers)?.lag ?? 0) : null;
