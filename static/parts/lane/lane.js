// @ts-check
// One queue as a lane, on every page: as a bar on the axis that all lanes share, or as its newest entries in cells. It
// is drawn again only when its own queue changes (patch.js keeps unchanged queues identical).

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { memo } from "../../common/memo.js";
import { t } from "../../common/i18n.js";
import { queueIds, summedOffsets, summedQueue } from "../../common/topics.js";
import { BarLane } from "./bar_lane.js";
import { CellLane } from "./cell_lane.js";
import { readersOf } from "./readers.js";

/** @typedef {import("../../common/topics.js").Offsets} Offsets */

/**
 * `queueId`: null for all queues of the topic as one. `reached`: by jobs on Spark. With an `axis` it is a bar on it, a
 * row of a table; else the newest entries, `most` at most, in cells.
 * @typedef {object} LaneProps
 * @property {string} topic
 * @property {string | null} queueId
 * @property {Picture.Queue | Picture.WorldQueue} queue
 * @property {Offsets} [reached]
 * @property {Picture.LaneSource} source
 * @property {import("./lane_axis.js").LaneAxis} [axis]
 * @property {number} [most]
 *
 * What both looks draw.
 * @typedef {LaneProps & { readers: import("./readers.js").Reader[], name: string, mark: string }} DrawnLane
 */

/** @param {LaneProps} props */
function LaneOf(props) {
  const { topic, queueId, queue, reached, source, axis } = props;
  const mark = useComputed(() => source.markOf({ topic, queueId }));
  const readers = readersOf(queue, source.order, reached);
  const drawn = { ...props, readers, name: `${topic}@${queueId ?? "all"}`, mark: mark.value };
  return axis ? html`<${BarLane} ...${drawn} />` : html`<${CellLane} ...${drawn} />`;
}

export const Lane = memo(LaneOf);

/** The queues of a topic as bars in a table, or `isSummed` all of them as one.
    @param {{ topic: string, queues: import("../../common/topics.js").Queues, reached?: Picture.SparkOffsets,
      isSummed: boolean, source: Picture.LaneSource, axis: import("./lane_axis.js").LaneAxis }} props */
export function LaneTable({ topic, queues, reached, isSummed, source, axis }) {
  /** @type {(queueId: string | null, queue: Picture.Queue, reached?: Offsets) => any} */
  const lane = (queueId, queue, offsets) =>
    html`<${Lane} key=${queueId} ...${{ topic, queueId, queue, source, axis }} reached=${offsets} />`;
  return html`<table class="lanes">
    <caption class="sr-only">${topic}</caption>
    <thead class="sr-only">
      <tr>
        <th>${t("field.queue_id")}</th><th>${t("live.lane.drawing")}</th>
        <th>${t("live.lane.max")}</th><th>${t("live.lane.lag")}</th>
      </tr>
    </thead>
    <tbody>
      ${
        isSummed
          ? lane(
              null,
              summedQueue(queues),
              summedOffsets(queues, (id) => reached?.[id]),
            )
          : queueIds(queues).map((id) => lane(id, queues[id], reached?.[id]))
      }
    </tbody>
  </table>`;
}
