// @ts-check
// The row above the lanes: the axis with its marks, and what stands in the other columns.

import { html } from "htm/preact";
import { compact } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { remPx } from "../../common/viewer/rem_px.js";
import { useWidth } from "../../common/viewer/sight.js";
import { readableTicks } from "./lane_scale.js";

/** @typedef {import("./lane_axis.js").LaneAxis} LaneAxis */

/** Measures how wide the lanes are. @param {{ axis: LaneAxis, kind?: string, children?: any }} props */
export function LaneHead({ axis, kind = "", children }) {
  const place = useWidth((width) => (axis.width.value = Math.max(120, Math.floor(width))));
  return html`<div class=${`lane-axis lane-columns ${kind}`} aria-hidden="true">
    <span></span>
    <span ref=${place} class="lane-axis-scale"><${AxisTicks} axis=${axis} /></span>
    <span class="number">${t("live.lane.max")}</span><span>${t("live.lane.lag")}</span>
    ${children}
  </div>`;
}

/** Room that a label of the axis needs, and the words at its end, in rem. */
const LABEL_REM = 0.9;
const WORDS_REM = 4.6;

/** @param {{ axis: LaneAxis }} props */
function AxisTicks({ axis }) {
  const rem = remPx.value;
  const [width, depth] = [axis.width.value, axis.depth.value];
  /** @param {number} tick */
  const widthOf = (tick) => LABEL_REM * rem * (0.5 + 0.5 * compact(tick).length);
  const ticks = readableTicks(axis.ticks(), depth, width - WORDS_REM * rem, axis.xOf, widthOf);
  return html`<svg width=${width} height=${2.5 * rem} class="axis-drawing">
    <text x="0" y=${0.9 * rem} class="axis-title">${t("live.lane.axis")}</text>
    ${ticks.map(
      (tick) => html`<text
        x=${tick === depth ? 0 : axis.xOf(tick)}
        y=${2.15 * rem}
        text-anchor=${tick === depth ? "start" : "middle"}
      >
        ${compact(tick)}
      </text>`,
    )}
    <text x=${width} y=${2.15 * rem} text-anchor="end">${t("live.lane.caught_up")}</text>
  </svg>`;
}
