// @ts-check
// The readers' marks on a lane (consumer groups, and jobs on Spark): those that are behind over the place that they
// have come to, those that have caught up beyond the newest message. Marks are side by side, never on each
// other; a tick shows the exact place.

import { html } from "htm/preact";
import { remPx } from "../../common/viewer/rem_px.js";
import { laneMargin, markWidth } from "./lane_axis.js";
import { clusterMarks } from "./lane_scale.js";
import { GroupShape, SparkShape } from "./marks.js";

/** The font size that a group's mark is drawn for. */
const MARK_REM_PX = 14;
/** Marks of one run; with more groups at nearly the same place the rest is counted. */
const MOST_IN_RUN = 4;

/** @typedef {import("./readers.js").Reader} Reader */

/** Readers at their `places` (pixels from the left), in the same order.
    @param {{ readers: Reader[], places: number[], end: number, height: number }} props */
export function LateMarks({ readers, places, end, height }) {
  const least = laneMargin.value - markWidth.value / 2;
  const runs = clusterMarks(places, markWidth.value, least, end, MOST_IN_RUN);
  return html`
    ${places.map(
      (x, index) =>
        html`<line
          key=${readers[index].key}
          class=${`lane-tick lane-tick-${readers[index].kind}`}
          x1=${x}
          x2=${x}
          y1="1"
          y2=${height - 1}
        />`,
    )}
    ${runs.map(
      ({ members, x }) =>
        html`<${Run}
          key=${readers[members[0]].key}
          readers=${members.map((index) => readers[index])}
          x=${x}
          y=${height / 2}
          most=${MOST_IN_RUN}
        />`,
    )}
  `;
}

/** Readers that have caught up; there is room for `most` marks.
    @param {{ readers: Reader[], end: number, y: number, most: number }} props */
export function ParkedMarks({ readers, end, y, most }) {
  if (readers.length === 0) return null;
  const width = Math.min(readers.length, most) * markWidth.value;
  return html`<${Run} readers=${readers} x=${end + 0.2 * markWidth.value + width / 2} y=${y} most=${most} />`;
}

/** Marks side by side around `x`; where they are more than `most`, the last place counts the rest.
    @param {{ readers: Reader[], x: number, y: number, most: number }} props */
function Run({ readers, x, y, most }) {
  const shown = readers.length > most ? readers.slice(0, most - 1) : readers;
  const places = Math.min(readers.length, most);
  /** @param {number} index */
  const xAt = (index) => x + (index - (places - 1) / 2) * markWidth.value;
  return html`
    ${shown.map((reader, index) => html`<${PlacedMark} key=${reader.key} reader=${reader} x=${xAt(index)} y=${y} />`)}
    ${
      shown.length < readers.length &&
      html`<text class="lane-more" x=${xAt(shown.length)} y=${y} dy=".36em" text-anchor="middle">
        +${readers.length - shown.length}
      </text>`
    }
  `;
}

/** @param {{ reader: Reader, x: number, y: number }} props */
function PlacedMark({ reader, x, y }) {
  const zoom = remPx.value / MARK_REM_PX;
  return html`<g transform=${`translate(${x.toFixed(1)} ${y}) scale(${zoom.toFixed(2)})`}>
    ${reader.kind === "spark" ? html`<${SparkShape} />` : html`<${GroupShape} group=${reader.name} />`}
  </g>`;
}
