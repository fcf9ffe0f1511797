// @ts-check
// The queues of a topic as bars in a table.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { queueIds, summedOffsets, summedQueue } from "../../common/topics.js";
import { BarLane } from "./bar_lane.js";
import { Lane } from "./lane.js";

/** @typedef {import("../../common/topics.js").Offsets} Offsets */

/** `isSummed`: all queues as one.
    @param {{ topic: string, queues: import("../../common/topics.js").Queues, reached?: Picture.SparkOffsets,
      isSummed: boolean, source: Picture.LaneSource, axis: import("./lane_axis.js").LaneAxis }} props */
export function LaneTable({ topic, queues, reached, isSummed, source, axis }) {
  /** @type {(queueId: string | null, queue: import("./lane.js").LaneProps["queue"], reached?: Offsets) => any} */
  const lane = (queueId, queue, offsets) =>
    html`<${Lane} key=${queueId} ...${{ topic, queueId, queue, source, axis }} Look=${BarLane} reached=${offsets} />`;
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
