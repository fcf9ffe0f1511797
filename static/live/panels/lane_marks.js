// The groups' marks on a lane: those that are behind over the place that they have committed, those that have caught
// up beyond the newest message. Marks stand beside each other, never on each other; a tick shows the exact place.

import { html } from "htm/preact";
import { laneMargin, markWidth, PARKED_MARKS, remPx } from "../lane_axis.js";
import { clusterMarks } from "../lane_scale.js";
import { GroupShape } from "./marks.js";

/** The font size that a group's mark is drawn for. */
const MARK_REM_PX = 14;
/** Marks of one run; with more groups at nearly the same place the rest is counted. */
const MOST_IN_RUN = 4;

/** Groups at their `places` (pixels from the left), in the same order. */
export function LateMarks({ groups, places, end, height }) {
  const least = laneMargin.value - markWidth.value / 2;
  const runs = clusterMarks(places, markWidth.value, least, end, MOST_IN_RUN);
  return html`${places.map((x, index) => html`<line key=${groups[index]} class="lane-tick" x1=${x} x2=${x} y1="1" y2=${height - 1} />`)}
    ${runs.map(({ members, x }) => html`<${Run} key=${groups[members[0]]} groups=${members.map((index) => groups[index])} x=${x} y=${height / 2} most=${MOST_IN_RUN} />`)}`;
}

/** Groups that have caught up. */
export function ParkedMarks({ groups, end, y }) {
  if (groups.length === 0) return null;
  const width = Math.min(groups.length, PARKED_MARKS) * markWidth.value;
  return html`<${Run} groups=${groups} x=${end + 0.2 * markWidth.value + width / 2} y=${y} most=${PARKED_MARKS} />`;
}

/** Marks side by side around `x`; where they are more than `most`, the last place counts the rest. */
function Run({ groups, x, y, most }) {
  const shown = groups.length > most ? groups.slice(0, most - 1) : groups;
  const places = Math.min(groups.length, most);
  const xAt = (index) => x + (index - (places - 1) / 2) * markWidth.value;
  return html`${shown.map((group, index) => html`<${PlacedMark} key=${group} group=${group} x=${xAt(index)} y=${y} />`)}
    ${shown.length < groups.length && html`<text class="lane-more" x=${xAt(shown.length)} y=${y} dy=".36em" text-anchor="middle">+${groups.length - shown.length}</text>`}`;
}

function PlacedMark({ group, x, y }) {
  const zoom = remPx.value / MARK_REM_PX;
  return html`<g transform=${`translate(${x.toFixed(1)} ${y}) scale(${zoom.toFixed(2)})`}><${GroupShape} group=${group} /></g>`;
}
