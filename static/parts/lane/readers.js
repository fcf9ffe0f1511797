// @ts-check
// The readers of a queue, consumer groups and jobs on Spark, and how far each lags.

import { t } from "../../common/i18n.js";

/**
 * `key`: of kind and name. `offset`: the next one that it reads.
 * @typedef {{ kind: "group" | "spark", name: string, key: string, offset: number, lag: number }} Reader
 */

/**
 * @param {Reader["kind"]} kind
 * @param {Record<string, number>} offsets By name.
 * @param {number} max The end of the queue.
 * @returns {Reader[]}
 */
const readersOfKind = (kind, offsets, max) =>
  Object.entries(offsets).map(([name, offset]) => ({
    kind,
    name,
    key: `${kind} ${name}`,
    offset,
    lag: Math.max(0, max - offset),
  }));

/**
 * The groups in the given order, then the jobs on Spark.
 *
 * @param {{ max?: number, committed?: Record<string, number> }} queue
 * @param {(one: string, other: string) => number} order
 * @param {Record<string, number>} reached By job.
 */
export function readersOf({ max = 0, committed = {} }, order, reached = {}) {
  const groups = readersOfKind("group", committed, max).sort((one, other) => order(one.name, other.name));
  return [...groups, ...readersOfKind("spark", reached, max)];
}

/**
 * The lag of the group that lags most; null without groups. What a job on Spark has not read is no backlog: it takes no
 * message away from anybody.
 *
 * @param {Reader[]} readers
 */
export function greatestLag(readers) {
  const lags = readers.filter(({ kind }) => kind === "group").map(({ lag }) => lag);
  return lags.length > 0 ? Math.max(...lags) : null;
}

/**
 * A group's offset and lag in words.
 *
 * @param {{ name: string, offset: number, lag: number }} reader
 */
export const progressOf = ({ name, offset, lag }) => t("queue.committed", { group: name, offset, lag });
