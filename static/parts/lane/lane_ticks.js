// @ts-check
// The marks of the axis above the lanes.

import { html } from "htm/preact";
import { remPx } from "../../common/viewer/rem_px.js";
import { compact } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { depth, laneWidth, xOf } from "./lane_axis.js";
import { axisTicks } from "./lane_scale.js";
import { laneScale } from "../../common/viewer/choices.js";

export function AxisTicks() {
  const rem = remPx.value;
  const ticks = readableTicks(axisTicks(depth.value, laneScale.value), LABEL_REM * rem);
  return html`<svg width=${laneWidth.value} height=${2.5 * rem} class="axis-drawing">
    <text x="0" y=${0.9 * rem} class="axis-title">${t("live.lane.axis")}</text>
    ${ticks.map(
      (tick) => html`<text
        x=${tick === depth.value ? 0 : xOf(tick)}
        y=${2.15 * rem}
        text-anchor=${tick === depth.value ? "start" : "middle"}
      >
        ${compact(tick)}
      </text>`,
    )}
    <text x=${laneWidth.value} y=${2.15 * rem} text-anchor="end">${t("live.lane.caught_up")}</text>
  </svg>`;
}

/** Room that a label of the axis needs, and the words at its end, in rem. */
const LABEL_REM = 0.9;
const WORDS_REM = 4.6;

/** Words stand at the newest end; then whatever has room next to the label before it. */
function readableTicks(ticks, room) {
  let limit = laneWidth.value - WORDS_REM * remPx.value;
  const widthOf = (tick) => room * (0.5 + 0.5 * compact(tick).length);
  return ticks.filter((tick) => {
    const x = tick === depth.value ? widthOf(tick) / 2 : xOf(tick);
    if (x + widthOf(tick) / 2 > limit) return false;
    limit = x - widthOf(tick) / 2;
    return true;
  });
}
