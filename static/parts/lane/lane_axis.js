// @ts-check
// The axis that all lanes of a page share: its length follows the fullest queue, its width the window.

import { computed, signal } from "@preact/signals";
import { remPx } from "../../common/viewer/rem_px.js";
import { axisDepth, axisTicks, fullestQueue, parkedMarks, positionOf } from "./lane_scale.js";

export const laneHeight = computed(() => Math.round(2.1 * remPx.value));

/** Room before the oldest message, so that a mark there is not cut off. */
export const laneMargin = computed(() => Math.round(0.85 * remPx.value));

/** Width of a reader's mark with its gap. */
export const markWidth = computed(() => 1.4 * remPx.value);

/** @typedef {ReturnType<typeof laneAxis>} LaneAxis */

/** @param {Picture.AxisSource} source */
export function laneAxis({ topics, jobs, scale }) {
  /** Of a lane's drawing in pixels, as the head of the lanes measures it. */
  const width = signal(360);
  const depth = computed(() => axisDepth(fullestQueue(topics()), scale()));
  const parked = computed(() => parkedMarks(topics(), jobs()));
  /** Pixels from the left for something `behind` messages before the newest. @param {number} behind */
  function xOf(behind) {
    const parking = Math.round((parked.value + 0.2) * markWidth.value);
    const length = Math.max(40, width.value - laneMargin.value - parking);
    return laneMargin.value + positionOf(behind, depth.value, scale()) * length;
  }
  return { width, depth, parked, xOf, ticks: () => axisTicks(depth.value, scale()) };
}
