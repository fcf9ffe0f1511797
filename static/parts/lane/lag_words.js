// @ts-check
// How far readers lag, in words: a number at a lane, a sentence with what becomes of it at a topic or a group.

import { html } from "htm/preact";
import { compact, count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { groupOf, isLagging, storedIn, summedOffsets, summedQueue } from "../../common/topics.js";
import { GroupMark, SparkMark } from "./marks.js";
import { greatestLag, readersOf, slowestGroup } from "./readers.js";
import { Button } from "../controls/button.js";

/** @typedef {import("./readers.js").Reader} Reader */
/** @typedef {Picture.LaneSource} Source */

/** Readers of a topic with a sentence of their own; of more, those with the greatest lag. */
const MOST_SENTENCES = 8;

/** What a lane shows, for a user who does not see it.
    @type {(queue: import("./lane.js").LaneProps["queue"], readers: Reader[], source: Source) => string} */
export const laneWords = (queue, readers, source) =>
  [t("live.lane.stored", { n: storedIn(queue) }), ...readers.map((reader) => lagOf(reader, source))].join(
    t("text.list_separator"),
  );

/** @type {(reader: Reader, source?: Source) => string} */
const nameOf = ({ kind, name }, source) => (kind === "spark" && source?.jobOf?.(name)) || name;

/** @type {(reader: Reader, source: Source) => string} */
function lagOf(reader, source) {
  const name = nameOf(reader, source);
  return t(reader.kind === "spark" ? "live.lane.spark_lag" : "live.lane.lag_of", {
    group: name,
    job: name,
    lag: reader.lag,
  });
}

/** The same with the offset, for a hint.
    @param {Reader} reader @param {Source} [source] Of a job on Spark: what its name is. */
export function exactLag(reader, source) {
  const { kind, lag, offset } = reader;
  const name = nameOf(reader, source);
  return t(kind === "spark" ? "live.lane.spark_hint" : "queue.committed", { group: name, job: name, lag, offset });
}

/** @type {(kind: Reader["kind"], lag: number) => string} */
const toneOf = (kind, lag) => (kind === "group" && isLagging(lag) ? "has-lag" : "");

/** @type {(props: { kind: Reader["kind"], name: string, size: number }) => any} */
const ReaderMark = ({ kind, name, size }) =>
  kind === "spark" ? html`<${SparkMark} size=${size} />` : html`<${GroupMark} group=${name} size=${size} />`;

/** At a lane: the jobs on Spark, and of the groups the one with the greatest lag.
    @param {{ readers: Reader[], source: Source }} props */
export function LaneLag({ readers, source }) {
  if (readers.length === 0) return html`<span class="quiet">${t("live.lane.no_group")}</span>`;
  const jobs = readers.filter(({ kind }) => kind === "spark");
  const worst = slowestGroup(readers);
  const hint = readers.map((reader) => exactLag(reader, source)).join("\n");
  return html`
    ${[...jobs, ...(worst ? [worst] : [])].map(
      (reader) => html`<span key=${reader.key} class=${`lag-chip ${toneOf(reader.kind, reader.lag)}`} title=${hint}>
        <${ReaderMark} kind=${reader.kind} name=${reader.name} size=${1.2} />
        <span>${t("live.lag.unknown", { n: compact(reader.lag) })}</span>
      </span>`,
    )}
    ${
      jobs.length < readers.length &&
      !worst &&
      html`<span class="quiet" title=${hint}>${t("live.lane.caught_up")}</span>`
    }
  `;
}

/** The same where there is little room: the greatest lag, or without groups the end of the queue, if it is given.
    @param {{ readers: Reader[], end?: number }} props */
export function ShortLag({ readers, end }) {
  const lag = greatestLag(readers);
  return html`<span class=${`queue-lag number ${lag ? "has-lag" : "quiet"}`} title=${t("lab.queues.lag_hint")}>
    ${lag === null ? end !== undefined && count(end) : lag ? t("lab.queues.lag", { n: lag }) : "✓"}
  </span>`;
}

/** "lags by 897, caught up in ~12 s": of a group on a topic, or on all of them.
    @param {{ group: string, topic?: string, lag: number, source: Source, clock: Picture.Clock }} props */
export function LagSentence({ group, topic = "", lag, source, clock }) {
  const { kind, left_us: left = 0 } = source.outlook?.(group, topic) ?? { kind: "unknown" };
  const words = lag > 0 ? t(`live.lag.${kind}`, { n: compact(lag), span: clock.span(left) }) : t("live.lane.caught_up");
  return html`<span class=${`lag-words quiet ${toneOf("group", lag)}`}>${words}</span>`;
}

/**
 * What becomes of the backlog of everybody who reads the topic.
 *
 * @param {{ topic: string, queues: import("../../common/topics.js").Queues, reached?: Picture.SparkOffsets,
 *   source: Source, clock: Picture.Clock }} props
 */
export function TopicLags({ topic, queues, reached, source, clock }) {
  const readers = readersOf(
    summedQueue(queues),
    source.order,
    summedOffsets(queues, (id) => reached?.[id]),
  );
  const rest = readers.length - MOST_SENTENCES;
  const shown = rest > 0 ? [...readers].sort((one, other) => other.lag - one.lag).slice(0, MOST_SENTENCES) : readers;
  return html`<div class="topic-lags">
    ${shown.map(
      (reader) => html`<${ReaderLag}
        key=${reader.key}
        ...${{ reader, topic, source, clock }}
      />`,
    )}
    ${rest > 0 && html`<span class="quiet">${t("live.lane.lesser_lag", { n: rest })}</span>`}
  </div>`;
}

/** A group, or a job on Spark, with its sentence; the name is left out where the topic bears it.
    @param {{ reader: Reader, topic: string, source: Source, clock: Picture.Clock }} props */
function ReaderLag({ reader, topic, source, clock }) {
  const { kind, name, lag } = reader;
  const hint = exactLag(reader, source);
  const title =
    groupOf(topic) !== name &&
    html`<${ReaderMark} kind=${kind} name=${name} size=${1.25} />
      <span class="reader-name">${nameOf(reader, source)}</span>${" "}`;
  if (kind === "spark")
    return html`<span class="reader-lag" title=${hint}>
      ${title}<span class="lag-words quiet">${t("live.lag.unknown", { n: compact(lag) })}</span>
    </span>`;
  const sentence = html`<${LagSentence} group=${name} topic=${topic} lag=${lag} source=${source} clock=${clock} />`;
  return html`<${Button}
    class="reader-lag" title=${`${hint}\n${t("operator.reset_hint", { group: name, topic })}`} aria-haspopup="dialog"
    onClick=${() => source.reset?.(name, topic)}
  >
    ${title}${sentence}
  </${Button}>`;
}
