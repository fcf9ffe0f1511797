// @ts-check
// One queue as a lane, on every page: as a bar on the axis that all lanes share, or as its newest entries in cells. It
// is drawn again only when its own queue changes (patch.js keeps unchanged queues identical).

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { memo } from "../../common/memo.js";
import { readersOf } from "./readers.js";

/** @typedef {import("../../common/topics.js").Offsets} Offsets */

/**
 * `queueId`: null for all queues of the topic as one. `reached`: by jobs on Spark. `Look`: BarLane is a row of a table,
 * with a bar on the `axis`; CellLane has the newest entries, `most` at most, in cells.
 * @typedef {object} LaneProps
 * @property {string} topic
 * @property {string | null} queueId
 * @property {Picture.Queue | Picture.WorldQueue | import("../../common/topics.js").SummedQueue} queue
 * @property {Offsets} [reached]
 * @property {Picture.LaneSource} source
 * @property {(props: DrawnLane) => any} Look
 * @property {import("./lane_axis.js").LaneAxis} [axis]
 * @property {number} [most]
 *
 * What both looks draw.
 * @typedef {LaneProps & { readers: import("./readers.js").Reader[], name: string, mark: string }} DrawnLane
 */

/** @param {LaneProps} props */
function LaneOf(props) {
  const { topic, queueId, queue, reached, source, Look } = props;
  const mark = useComputed(() => source.markOf({ topic, queueId }));
  const readers = readersOf(queue, source.order, reached);
  return html`<${Look} ...${props} readers=${readers} name=${`${topic}@${queueId ?? "all"}`} mark=${mark.value} />`;
}

export const Lane = memo(LaneOf);
