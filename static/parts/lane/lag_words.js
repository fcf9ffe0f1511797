// @ts-check
// How far behind a reader is, in words: a number at a lane, a sentence with what becomes of it at a topic or a group.

import { html } from "htm/preact";
import { compact, span } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { groupOf, isLagging } from "../../common/cluster/lists.js";
import { state } from "../../common/cluster/view.js";
import { askToReset } from "../../common/cluster/asked.js";
import { GroupMark, SparkMark } from "./marks.js";
import { progressOf } from "./readers.js";

const jobOf = (run) => state.peek().spark?.jobs?.[run] ?? run;

/** One sentence for who reads with a screen reader. */
export const spokenLag = ({ kind, name, lag }) =>
  t(kind === "spark" ? "live.lane.spark_lag" : "live.lane.lag_of", { group: name, lag, job: jobOf(name) });

/** The same with the offset, for a hint. */
export function exactLag({ kind, name, lag, offset }) {
  return kind === "spark"
    ? t("live.lane.spark_hint", { job: jobOf(name), lag, offset })
    : progressOf({ name, offset, lag });
}

const toneOf = (kind, lag) => (kind === "group" && isLagging(lag) ? "has-lag" : "");

function ReaderMark({ kind, name, size }) {
  return kind === "spark" ? html`<${SparkMark} size=${size} />` : html`<${GroupMark} group=${name} size=${size} />`;
}

/** At a lane: the jobs on Spark, and of the groups the one with the greatest lag. */
export function LaneLag({ readers }) {
  const groups = readers.filter(({ kind }) => kind === "group");
  const jobs = readers.filter(({ kind }) => kind === "spark");
  if (readers.length === 0) return html`<span class="quiet">${t("live.lane.no_group")}</span>`;
  const hint = readers.map(exactLag).join("\n");
  const worst = groups.reduce((most, one) => (one.lag > (most?.lag ?? 0) ? one : most), undefined);
  return html`
    ${jobs.map((job) => html`<${LagChip} key=${job.key} reader=${job} hint=${hint} />`)}
    ${worst && html`<${LagChip} reader=${worst} hint=${hint} />`}
    ${groups.length > 0 && !worst && html`<span class="quiet" title=${hint}>${t("live.lane.caught_up")}</span>`}
  `;
}

function LagChip({ reader, hint }) {
  return html`<span class=${`lag-chip ${toneOf(reader.kind, reader.lag)}`} title=${hint}>
    <${ReaderMark} ...${reader} size=${1.2} />
    <span>${t("live.lag.unknown", { n: compact(reader.lag) })}</span>
  </span>`;
}

/** "897 behind, gone in about 12 s" of a group on a topic, or on all of them: the server's trend (app/watch). */
export function LagSentence({ group, topic = "", lag }) {
  const { kind, left_us: left } = state.value.backlogs[group]?.[topic] ?? { kind: "unknown" };
  const words =
    lag > 0 ? t(`live.lag.${kind}`, { n: compact(lag), span: span((left ?? 0) / 1000) }) : t("live.lane.caught_up");
  return html`<span class=${`lag-words ${toneOf("group", lag)}`}>${words}</span>`;
}

/** A group, or a job on Spark, with its sentence; the name is left out where the topic bears it. */
export function ReaderLag({ reader, topic }) {
  const { kind, name, lag } = reader;
  if (kind === "group") {
    const hint = `${exactLag(reader)}\n${t("operator.reset_hint", { group: name, topic })}`;
    return html`<button
      type="button"
      class="reader-lag"
      title=${hint}
      aria-haspopup="dialog"
      onClick=${() => askToReset(name, topic)}
    >
      ${
        groupOf(topic) !== name &&
        html`<${GroupMark} group=${name} size=${1.25} /><span class="reader-name">${name}</span>`
      }
      ${" "}<${LagSentence} group=${name} topic=${topic} lag=${lag} />
    </button>`;
  }
  return html`<span class="reader-lag" title=${exactLag(reader)}>
    <${SparkMark} size=${1.25} /><span class="reader-name">${jobOf(name)}</span>${" "}
    <span class="lag-words">${t("live.lag.unknown", { n: compact(lag) })}</span>
  </span>`;
}
