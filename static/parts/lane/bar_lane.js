// @ts-check
// A lane as a row of a table: the stored messages as a bar that ends at the newest one, and the position of each
// reader.

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { topicMark } from "../../common/palette.js";
import { count, fitted } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { storedIn } from "../../common/topics.js";
import { laneHeight, laneMargin } from "./lane_axis.js";
import { LaneLag, laneWords } from "./lag_words.js";
import { LateMarks, ParkedMarks } from "./lane_marks.js";
import { greatestLag } from "./readers.js";
import { Button } from "../controls/button.js";

/** As long as the animation in styles/stage.css. */
const FLASH_MS = 700;
/** Characters for which the column of the newest offset has room. */
const MAX_CHARACTERS = 10;

/** @param {import("./lane.js").DrawnLane} props */
export function BarLane(props) {
  const { topic, queueId, queue, readers, name, mark, source } = props;
  const { min, max } = queue;
  const range = t("queue.range", { min: count(min), max: count(max) });
  return html`<tr class=${`lane ${mark}`} data-queue=${name} ...${source.pointing({ topic, queueId })}>
    <th scope="row" class="lane-name"><${LaneName} topic=${topic} queueId=${queueId} open=${source.open} /></th>
    <td class="lane-cell" title=${queueId === null ? "" : range}><${LaneDrawing} ...${props} /></td>
    <td class="number lane-max" data-cell="max" title=${t("live.lane.max_hint")}>
      ${fitted(queueId === null ? max - min : max, MAX_CHARACTERS)}
    </td>
    <td class="lane-lags" data-cell="lag"><${LaneLag} readers=${readers} source=${source} /></td>
  </tr>`;
}

/** @param {{ topic: string, queueId: string | null, open: Picture.LaneSource["open"] }} props */
function LaneName({ topic, queueId, open }) {
  if (queueId === null) return html`<span title=${t("live.lane.all_queues")}>Σ</span>`;
  if (!open) return `Q${queueId}`;
  return html`<${Button}
    class="lane-button" title=${t("live.lane.open")} label=${t("live.lane.open_queue", { topic, id: queueId })}
    onClick=${() => open({ topic, queueId })}
  >
    Q${queueId}
  </${Button}>`;
}

/** @param {import("./lane.js").DrawnLane & { axis: import("./lane_axis.js").LaneAxis }} props */
function LaneDrawing({ topic, queue, readers, source, axis }) {
  const { max } = queue;
  const flash = useFlash(max);
  const { xOf } = axis;
  const stored = storedIn(queue);
  const slowest = Math.min(stored, greatestLag(readers) ?? 0);
  const [start, end, unread] = [xOf(stored), xOf(0), xOf(slowest)];
  const late = readers.filter(({ lag }) => lag > 0);
  const places = late.map(({ lag }) => xOf(Math.min(lag, stored)));
  const height = laneHeight.value;
  const middle = height / 2;
  const bar = { y: height * 0.27, height: height * 0.46, rx: 3 };
  return html`<svg
    class=${`lane-drawing tone-${topicMark(topic).tone}`}
    width=${axis.width.value}
    height=${height}
    role="img"
    aria-label=${laneWords(queue, readers, source)}
  >
    ${axis.ticks().map((tick) => html`<line class="lane-grid" x1=${xOf(tick)} x2=${xOf(tick)} y1="0" y2=${height} />`)}
    <line class="lane-ground" x1=${laneMargin.value} x2=${end} y1=${middle} y2=${middle} />
    ${stored > 0 && html`<rect class="lane-bar" x=${start} width=${Math.max(3, end - start)} ...${bar} />`}
    ${slowest > 0 && html`<rect class="lane-unread" x=${unread} width=${Math.max(3, end - unread)} ...${bar} />`}
    ${max > 0 && html`<rect key=${flash} class="lane-arrival" x=${end - 5} width="5" ...${bar} />`}
    <${LateMarks} readers=${late} places=${places} end=${end} height=${height} />
    <${ParkedMarks}
      readers=${readers.filter(({ lag }) => lag === 0)}
      end=${end}
      y=${middle}
      most=${axis.parked.value}
    />
  </svg>`;
}

/** A number that grows when `value` grows, but not faster than a flash lasts: a busy lane need not flicker.
    @param {number} value */
function useFlash(value) {
  const last = useRef({ value, at: -Infinity, number: 0 });
  const now = performance.now();
  if (value !== last.current.value && now - last.current.at > FLASH_MS)
    last.current = { value, at: now, number: last.current.number + 1 };
  return last.current.number;
}
