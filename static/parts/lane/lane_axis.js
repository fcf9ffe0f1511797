// @ts-check
// The axis that all visible lanes share: its length follows the fullest queue, its width the window.

import { computed, signal } from "@preact/signals";
import { axisDepth, positionOf } from "./lane_scale.js";
import { laneScale, showSystemTopics } from "../../common/viewer/choices.js";
import { remPx } from "../../common/viewer/rem_px.js";
import { state } from "../../common/cluster/view.js";

/** Width of a lane's drawing in pixels, measured by the topics panel. */
export const laneWidth = signal(360);

export const laneHeight = computed(() => Math.round(2.1 * remPx.value));

/** Room before the oldest message, so that a mark there is not cut off. */
export const laneMargin = computed(() => Math.round(0.85 * remPx.value));

/** Width of a group's mark with its gap. */
export const markWidth = computed(() => 1.4 * remPx.value);

/** Marks that fit beyond the newest message, as many as a lane needs: there groups stand that have caught up. */
const MOST_PARKED = 3;
export const parkedMarks = computed(() => {
  let most = 1;
  for (const { kind, queues } of Object.values(state.value.topics)) {
    if (kind === "system") continue;
    for (const { committed } of Object.values(queues)) most = Math.max(most, Object.keys(committed ?? {}).length);
  }
  const jobs = Object.keys(state.value.spark?.jobs ?? {}).length;
  return Math.min(MOST_PARKED, most + jobs);
});
const parkingWidth = computed(() => Math.round((parkedMarks.value + 0.2) * markWidth.value));

export const depth = computed(() => {
  let most = 0;
  for (const topic of Object.values(state.value.topics)) {
    if (topic.kind === "system" && showSystemTopics.value !== "yes") continue;
    for (const queue of Object.values(topic.queues)) most = Math.max(most, queue.max - queue.min);
  }
  return axisDepth(most, laneScale.value);
});

/** Pixels from the left for something `behind` messages before the newest. */
export function xOf(behind) {
  const length = Math.max(40, laneWidth.value - laneMargin.value - parkingWidth.value);
  return laneMargin.value + positionOf(behind, depth.value, laneScale.value) * length;
}
