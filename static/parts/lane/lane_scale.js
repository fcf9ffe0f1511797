// @ts-check
// The position of an offset on a lane. All lanes share one axis: the number of messages before the newest one.
//
//   oldest                                   newest
//     |---------|---------|--------|----------|
//   depth     10 k       100      10          0   messages behind the end
//
// On the logarithmic scale every decade gets the same width, so a lag of 10 and one of 10 million both show;
// the linear scale is there for comparing lengths.

import { storedIn } from "../../common/topics.js";

/** @typedef {string} Scale LOGARITHMIC or LINEAR. */
/** @typedef {{ queues: import("../../common/topics.js").Queues }} Topic */

export const LOGARITHMIC = "log";
export const LINEAR = "linear";

/** The smallest axis: a topic with three messages should not look like a full one. */
const LEAST_DEPTH = 10;

/** The length of the axis: the next power of ten (log) or 1-2-5 step.
    @param {number} most The number of messages that a lane holds at most. @param {Scale} scale */
export function axisDepth(most, scale) {
  const wanted = Math.max(most, LEAST_DEPTH);
  const decade = 10 ** Math.floor(Math.log10(wanted));
  const steps = scale === LOGARITHMIC ? [1, 10] : [1, 2, 5, 10];
  return decade * (steps.find((step) => decade * step >= wanted) ?? 10);
}

/** 0 at the old end of the axis, 1 at the newest message.
    @param {number} behind @param {number} depth @param {Scale} scale */
export function positionOf(behind, depth, scale) {
  const clamped = Math.min(Math.max(behind, 0), depth);
  return scale === LOGARITHMIC ? 1 - Math.log10(1 + clamped) / Math.log10(1 + depth) : 1 - clamped / depth;
}

/** The distances that get a mark on the axis, newest first. @param {number} depth @param {Scale} scale */
export function axisTicks(depth, scale) {
  if (scale === LINEAR) return [0, depth / 4, depth / 2, (3 * depth) / 4, depth].filter(Number.isInteger);
  const ticks = [0];
  for (let tick = 1; tick <= depth; tick *= 10) ticks.push(tick);
  return ticks;
}

/** @param {Topic[]} topics */
export const fullestQueue = (topics) =>
  topics.flatMap(({ queues }) => Object.values(queues)).reduce((most, queue) => Math.max(most, storedIn(queue)), 0);

/** Marks that fit beyond the newest message: there readers stand that have caught up. */
const MOST_PARKED = 3;

/** As many of them as a lane needs. @param {Topic[]} topics @param {number} jobs On Spark. */
export function parkedMarks(topics, jobs) {
  const groups = topics
    .flatMap(({ queues }) => Object.values(queues))
    .reduce((most, { committed }) => Math.max(most, Object.keys(committed).length), 1);
  return Math.min(MOST_PARKED, groups + jobs);
}

/** The distances whose labels have room, from the newest on: none reaches into the label before it, nor into the words
    at the end. The label of the oldest distance begins at 0, the others are over their places.
    @param {number[]} ticks Newest first. @param {number} depth @param {number} end Where the words begin.
    @param {(tick: number) => number} placeOf @param {(tick: number) => number} widthOf */
export function readableTicks(ticks, depth, end, placeOf, widthOf) {
  let limit = end;
  return ticks.filter((tick) => {
    const [x, half] = [tick === depth ? widthOf(tick) / 2 : placeOf(tick), widthOf(tick) / 2];
    if (x + half > limit) return false;
    limit = x - half;
    return true;
  });
}

/** @typedef {{ members: number[], x: number }} Run indexes of places from left to right; the middle of the run */

/** Puts marks that would cover each other side by side: each run of them stands centred over its true places, at
    most `most` marks wide, and none leaves [left, right]. `places` are pixels from the left, in any order; so is
    what comes back.
    @param {number[]} places @param {number} gap @param {number} left @param {number} right @param {number} most
    @returns {Run[]} */
export function clusterMarks(places, gap, left, right, most) {
  /** @param {Pick<Run, "members">} run */
  const widthOf = (run) => Math.min(run.members.length, most) * gap;
  /** @param {number[]} members */
  const middleOf = (members) => members.reduce((sum, index) => sum + places[index], 0) / members.length;
  /** @param {number[]} members */
  const runOf = (members) => {
    const half = widthOf({ members }) / 2;
    return { members, x: Math.max(left + half, Math.min(right - half, middleOf(members))) };
  };
  /** @type {Run[]} */
  const runs = [];
  for (const index of places.map((_, position) => position).sort((a, b) => places[a] - places[b])) {
    runs.push(runOf([index]));
    while (runs.length > 1) {
      const [before, last] = runs.slice(-2);
      if (last.x - widthOf(last) / 2 >= before.x + widthOf(before) / 2) break;
      runs.splice(-2, 2, runOf([...before.members, ...last.members]));
    }
  }
  return runs;
}
