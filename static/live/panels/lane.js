// One queue as a lane: the stored messages as a bar that ends at the newest one, and where each group stands.
// It renders again only when its own queue changes (patch.js keeps unchanged queues identical).

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { topicMark } from "../../common/palette.js";
import { compact, count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { axisTicks } from "../lane_scale.js";
import { depth, laneHeight, laneMargin, laneWidth, xOf } from "../lane_axis.js";
import { byGroup, highlighted, inspectedQueue, isLagging, laneScale, state } from "../view.js";
import { LateMarks, ParkedMarks } from "./lane_marks.js";
import { GroupMark } from "./marks.js";

/** As long as the animation in styles/stage.css. */
const FLASH_MS = 700;
/** Lag chips beside a lane; with more groups than that the last chip stands for the rest. */
export const MOST_CHIPS = 2;

/** A table row. `queueId` null draws the topic's sum, for a section that is closed. */
export function LaneRow({ topic, queueId }) {
  const queue = useComputed(() => {
    const found = state.value.topics[topic];
    return queueId === null ? summedQueue(found) : found?.queues[queueId];
  });
  const isMarked = useComputed(() => {
    const at = highlighted.value;
    return at?.topic === topic && (at.queueId === undefined || at.queueId === queueId);
  });
  if (!queue.value) return null;
  const { min, max, committed } = queue.value;
  const groups = Object.keys(committed ?? {}).sort(byGroup);
  const name = t("live.lane.all_queues");
  return html`<tr class=${`lane ${isMarked.value ? "is-marked" : ""}`} data-queue=${`${topic}@${queueId ?? "all"}`}
      onPointerEnter=${() => (highlighted.value = { topic, queueId: queueId ?? undefined })}
      onPointerLeave=${() => (highlighted.value = null)}>
    <th scope="row" class="lane-name">${queueId === null
      ? html`<span title=${name}>Σ</span>`
      : html`<button type="button" class="lane-button" title=${t("live.lane.open")} aria-label=${t("live.lane.open_queue", { topic, id: queueId })}
          onClick=${() => (inspectedQueue.value = { topic, queueId })}>Q${queueId}</button>`}</th>
    <td class="number lane-min" data-cell="min" title=${t("live.lane.min_hint")}>${queueId === null ? "" : count(min)}</td>
    <td class="lane-cell"><${LaneDrawing} topic=${topic} min=${min} max=${max} committed=${committed ?? {}} groups=${groups} /></td>
    <td class="number lane-max" data-cell="max" title=${t("live.lane.max_hint")}>${count(queueId === null ? max - min : max)}</td>
    <td class="lane-lags" data-cell="lag"><${LagChips} max=${max} committed=${committed ?? {}} groups=${groups} /></td>
  </tr>`;
}

/** All queues of a topic as one: how many messages are stored, and each group's lag over all of them. */
const sums = new WeakMap();
function summedQueue(topic) {
  if (!topic) return undefined;
  if (!sums.has(topic.queues)) {
    const behind = {};
    let stored = 0;
    for (const { min, max, committed } of Object.values(topic.queues)) {
      stored += max - min;
      for (const [group, offset] of Object.entries(committed ?? {})) behind[group] = (behind[group] ?? 0) + max - offset;
    }
    const committed = Object.fromEntries(Object.entries(behind).map(([group, lag]) => [group, stored - lag]));
    sums.set(topic.queues, { min: 0, max: stored, committed });
  }
  return sums.get(topic.queues);
}

function LaneDrawing({ topic, min, max, committed, groups }) {
  const flash = useFlash(max);
  const stored = Math.max(0, max - min);
  const behind = groups.map((group) => Math.max(0, max - committed[group]));
  const slowest = Math.min(stored, Math.max(0, ...behind));
  const width = laneWidth.value;
  const start = xOf(stored);
  const end = xOf(0);
  const unread = xOf(slowest);
  const late = groups.filter((_, index) => behind[index] > 0);
  const places = late.map((group) => xOf(Math.min(max - committed[group], stored)));
  const height = laneHeight.value;
  const middle = height / 2;
  const bar = { y: height * 0.27, height: height * 0.46, rx: 3 };
  return html`<svg class=${`lane-drawing tone-${topicMark(topic).tone}`} width=${width} height=${height}
      role="img" aria-label=${describe(stored, groups, behind)}>
    ${axisTicks(depth.value, laneScale.value).map((tick) =>
      html`<line class="lane-grid" x1=${xOf(tick)} x2=${xOf(tick)} y1="0" y2=${height} />`)}
    <line class="lane-ground" x1=${laneMargin.value} x2=${end} y1=${middle} y2=${middle} />
    ${stored > 0 && html`<rect class="lane-bar" x=${start} width=${Math.max(3, end - start)} ...${bar} />`}
    ${slowest > 0 && html`<rect class="lane-unread" x=${unread} width=${Math.max(3, end - unread)} ...${bar} />`}
    ${max > 0 && html`<rect key=${flash} class="lane-arrival" x=${end - 5} width="5" ...${bar} />`}
    <${LateMarks} groups=${late} places=${places} end=${end} height=${height} />
    <${ParkedMarks} groups=${groups.filter((_, index) => behind[index] === 0)} end=${end} y=${middle} />
  </svg>`;
}

/** A number that grows when `value` grows, but not faster than a flash lasts: a busy lane need not flicker. */
function useFlash(value) {
  const last = useRef({ value, at: -Infinity, number: 0 });
  const now = performance.now();
  if (value !== last.current.value && now - last.current.at > FLASH_MS) last.current = { value, at: now, number: last.current.number + 1 };
  return last.current.number;
}

function describe(stored, groups, behind) {
  const parts = groups.map((group, index) => t("live.lane.lag_of", { group, lag: behind[index] }));
  return [t("live.lane.stored", { n: stored }), ...parts].join(t("text.list_separator"));
}

function LagChips({ max, committed, groups }) {
  if (groups.length === 0) return html`<span class="quiet">${t("live.lane.no_group")}</span>`;
  const lagOf = (group) => Math.max(0, max - committed[group]);
  const hintOf = (group) => t("live.lane.lag_hint", { group, lag: lagOf(group), committed: committed[group] });
  const shown = groups.slice(0, MOST_CHIPS);
  const rest = groups.slice(MOST_CHIPS);
  return html`${shown.map((group) => html`<${LagChip} key=${group} group=${group} lag=${lagOf(group)} hint=${hintOf(group)} />`)}
    ${rest.length > 0 && html`<${RestChip} n=${rest.length} most=${Math.max(...rest.map(lagOf))} hint=${rest.map(hintOf).join("\n")} />`}`;
}

function LagChip({ group, lag, hint }) {
  return html`<span class=${`lag-chip ${isLagging(lag) ? "has-lag" : ""}`} title=${hint}>
    <${GroupMark} group=${group} size=${1.2} /><span class="number">${compact(lag)}</span></span>`;
}

/** The groups that have no chip of their own, by the greatest of their lags. */
function RestChip({ n, most, hint }) {
  return html`<span class=${`lag-chip lag-rest ${isLagging(most) ? "has-lag" : ""}`} title=${hint}>
    <span aria-hidden="true">+${n} ≤ </span><span class="sr-only">${t("live.lane.rest", { n })} </span><span class="number">${compact(most)}</span></span>`;
}

/** Lags over all queues of a topic that has too many groups for chips of their own beside each lane. */
export function TopicLags({ topic }) {
  const queue = useComputed(() => summedQueue(state.value.topics[topic]));
  const { max = 0, committed = {} } = queue.value ?? {};
  const groups = Object.keys(committed).sort(byGroup);
  if (groups.length <= MOST_CHIPS) return null;
  return html`<span class="topic-lags">${groups.map((group) => {
    const lag = Math.max(0, max - committed[group]);
    return html`<${LagChip} key=${group} group=${group} lag=${lag} hint=${t("live.lane.lag_of", { group, lag })} />`;
  })}</span>`;
}
