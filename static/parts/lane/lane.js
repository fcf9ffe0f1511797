// @ts-check
// One queue as a lane: the stored messages as a bar that ends at the newest one, and the position of each group.
// It renders again only when its own queue changes (patch.js keeps unchanged queues identical).

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { topicMark } from "../../common/palette.js";
import { count, fitted } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { axisTicks } from "./lane_scale.js";
import { depth, laneHeight, laneMargin, laneWidth, xOf } from "./lane_axis.js";
import { laneScale } from "../../common/viewer/choices.js";
import { byGroup, compare } from "../../common/cluster/lists.js";
import { highlighted, inspectedQueue } from "../../common/cluster/selection.js";
import { state } from "../../common/cluster/view.js";
import { LaneLag, ReaderLag, spokenLag } from "./lag_words.js";
import { LateMarks, ParkedMarks } from "./lane_marks.js";
import { greatestLag, readersOf } from "./readers.js";

/** As long as the animation in styles/stage.css. */
const FLASH_MS = 700;
/** Readers of a topic with a sentence of their own; of more, those with the greatest lag. */
const MOST_SENTENCES = 8;
/** Characters for which the column of the newest offset has room. */
const MAX_CHARACTERS = 10;

/**
 * A table row. `queueId` null draws the topic's sum, for a section that is closed. `spark` says how far jobs on Spark
 * have read, {queue id: {run id: offset}}, where the live state does not; `isPlain`: the name opens nothing.
 */
export function LaneRow({ topic, queueId, spark, isPlain = false }) {
  const queue = useComputed(() => {
    const found = state.value.topics[topic];
    return queueId === null ? summedQueue(found) : found?.queues[queueId];
  });
  const live = useComputed(() => sparkOffsets(state.value.topics[topic], queueId, state.value.spark?.offsets?.[topic]));
  const isMarked = useComputed(() => {
    const at = highlighted.value;
    return at?.topic === topic && (at.queueId === undefined || at.queueId === queueId);
  });
  if (!queue.value) return null;
  const { min, max } = queue.value;
  const offsets = t("queue.range", { min: count(min), max: count(max) });
  const reached = spark ? sparkOffsets(state.peek().topics[topic], queueId, spark) : live.value;
  const readers = readersOf(queue.value, byGroup, reached);
  const name = t("live.lane.all_queues");
  return html`<tr
    class=${`lane ${isMarked.value ? "is-marked" : ""}`}
    data-queue=${`${topic}@${queueId ?? "all"}`}
    onPointerEnter=${() => (highlighted.value = { topic, queueId: queueId ?? undefined })}
    onPointerLeave=${() => (highlighted.value = null)}
  >
    <th scope="row" class="lane-name">
      ${
        queueId === null
          ? html`<span title=${name}>Σ</span>`
          : isPlain
            ? `Q${queueId}`
            : html`<button
              type="button"
              class="lane-button"
              title=${t("live.lane.open")}
              aria-label=${t("live.lane.open_queue", { topic, id: queueId })}
              onClick=${() => (inspectedQueue.value = { topic, queueId })}
            >
              Q${queueId}
            </button>`
      }
    </th>
    <td class="lane-cell" title=${queueId === null ? "" : offsets}>
      <${LaneDrawing} topic=${topic} min=${min} max=${max} readers=${readers} />
    </td>
    <td class="number lane-max" data-cell="max" title=${t("live.lane.max_hint")}>
      ${fitted(queueId === null ? max - min : max, MAX_CHARACTERS)}
    </td>
    <td class="lane-lags" data-cell="lag">
      ${(queueId !== null || spark) && html`<${LaneLag} readers=${readers} />`}
    </td>
  </tr>`;
}

/** The same object every time, so that lanes without Spark do not render for nothing. */
const NOBODY = {};

/** Run id -> offset in one queue, or in the sum of all of them. */
function sparkOffsets(topic, queueId, spark) {
  if (!topic || !spark) return NOBODY;
  if (queueId !== null) return spark[queueId] ?? NOBODY;
  let stored = 0;
  const behind = {};
  for (const [id, { min, max }] of Object.entries(topic.queues)) {
    stored += max - min;
    for (const [run, offset] of Object.entries(spark[id] ?? {}))
      behind[run] = (behind[run] ?? 0) + Math.max(0, max - offset);
  }
  return Object.fromEntries(Object.entries(behind).map(([run, lag]) => [run, stored - lag]));
}

/** All queues of a topic as one: how many messages are stored, and each group's lag over all of them. */
const sums = new WeakMap();
export function summedQueue(topic) {
  if (!topic) return undefined;
  if (!sums.has(topic.queues)) {
    const behind = {};
    let stored = 0;
    for (const { min, max, committed: offsets } of Object.values(topic.queues)) {
      stored += max - min;
      for (const [group, offset] of Object.entries(offsets ?? {})) behind[group] = (behind[group] ?? 0) + max - offset;
    }
    const committed = Object.fromEntries(Object.entries(behind).map(([group, lag]) => [group, stored - lag]));
    sums.set(topic.queues, { min: 0, max: stored, committed });
  }
  return sums.get(topic.queues);
}

function LaneDrawing({ topic, min, max, readers }) {
  const flash = useFlash(max);
  const stored = Math.max(0, max - min);
  const slowest = Math.min(stored, greatestLag(readers) ?? 0);
  const width = laneWidth.value;
  const start = xOf(stored);
  const end = xOf(0);
  const unread = xOf(slowest);
  const late = readers.filter(({ lag }) => lag > 0);
  const places = late.map(({ lag }) => xOf(Math.min(lag, stored)));
  const height = laneHeight.value;
  const middle = height / 2;
  const bar = { y: height * 0.27, height: height * 0.46, rx: 3 };
  return html`<svg
    class=${`lane-drawing tone-${topicMark(topic).tone}`}
    width=${width}
    height=${height}
    role="img"
    aria-label=${describe(stored, readers)}
  >
    ${axisTicks(depth.value, laneScale.value).map(
      (tick) => html`<line class="lane-grid" x1=${xOf(tick)} x2=${xOf(tick)} y1="0" y2=${height} />`,
    )}
    <line class="lane-ground" x1=${laneMargin.value} x2=${end} y1=${middle} y2=${middle} />
    ${stored > 0 && html`<rect class="lane-bar" x=${start} width=${Math.max(3, end - start)} ...${bar} />`}
    ${slowest > 0 && html`<rect class="lane-unread" x=${unread} width=${Math.max(3, end - unread)} ...${bar} />`}
    ${max > 0 && html`<rect key=${flash} class="lane-arrival" x=${end - 5} width="5" ...${bar} />`}
    <${LateMarks} readers=${late} places=${places} end=${end} height=${height} />
    <${ParkedMarks} readers=${readers.filter(({ lag }) => lag === 0)} end=${end} y=${middle} />
  </svg>`;
}

/** A number that grows when `value` grows, but not faster than a flash lasts: a busy lane need not flicker. */
function useFlash(value) {
  const last = useRef({ value, at: -Infinity, number: 0 });
  const now = performance.now();
  if (value !== last.current.value && now - last.current.at > FLASH_MS)
    last.current = { value, at: now, number: last.current.number + 1 };
  return last.current.number;
}

function describe(stored, readers) {
  return [t("live.lane.stored", { n: stored }), ...readers.map(spokenLag)].join(t("text.list_separator"));
}

/** What becomes of the backlog of everybody who reads the topic. */
export function TopicLags({ topic }) {
  const queue = useComputed(() => summedQueue(state.value.topics[topic]));
  const spark = useComputed(() => sparkOffsets(state.value.topics[topic], null, state.value.spark?.offsets?.[topic]));
  const readers = readersOf(queue.value ?? NOBODY, byGroup, spark.value);
  const isMany = readers.length > MOST_SENTENCES;
  const shown = isMany ? [...readers].sort((a, b) => b.lag - a.lag || compare(a.key, b.key)) : readers;
  const rest = readers.length - MOST_SENTENCES;
  return html`<div class="topic-lags">
    ${shown
      .slice(0, MOST_SENTENCES)
      .map((reader) => html`<${ReaderLag} key=${reader.key} reader=${reader} topic=${topic} />`)}
    ${isMany && html`<span class="quiet">${t("live.lane.lesser_lag", { n: rest })}</span>`}
  </div>`;
}
