// @ts-check
// A Kafka broker: for each partition the segments of its log, their batches and the entries of the sparse index; and
// the fetches that it holds back. What is on the disk is shown while no process runs, too.

import { html } from "htm/preact";
import { bytes, count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { CommitMark } from "../../lane/cell_lane.js";
import { ShortLag } from "../../lane/lag_words.js";
import { readersOf } from "../../lane/readers.js";
import { topicMark } from "../../../common/palette.js";
import { memo } from "../../../common/memo.js";
import { density } from "../../stage/folding.js";
import { accused, compare } from "../../../common/world/view.js";
import { NodeCard } from "../node_card.js";
import { Part, Rule } from "../part.js";
import { LogBlock, LogStrip } from "../../log/strip.js";
import { PartitionName } from "./partition_name.js";
import { Replica } from "./replica.js";

/** No more blocks than can be read, by the density of the stage. */
const BLOCKS_MOST = [9, 9, 7, 5];
/** A batch of this size has the widest block. */
const WIDEST_BYTES = 1_500;

/** @type {(props: { name: string, node: Picture.KafkaBrokerPicture }) => any} */
export const KafkaBroker = memo(({ name, node }) => {
  const partitions = node.partitions ?? [];
  const records = partitions.reduce((sum, one) => sum + one.end - one.start, 0);
  return html`<${NodeCard}
    name=${name}
    node=${node}
    summary=${t("lab.kafka.summary", { n: records, partitions: partitions.length })}
    lasting=${html`<${Logs} name=${name} partitions=${partitions} />`}
  >
    ${
      node.held_fetches > 0 &&
      html`<p class="node-line quiet" data-part="held-fetches" title=${t("lab.kafka.held_hint")}>
        ${t("lab.kafka.held", { n: node.held_fetches })}
      </p>`
    }
  </${NodeCard}>`;
});

const Logs = memo(
  ({ name, partitions }) => html`<${Part}
    part="partition_log"
    name=${t("lab.kafka.partition_logs")}
    class="kafka-part"
    summary=${html`<span class="quiet number">${count(partitions.length)}</span>`}
    tools=${html`<${Rule} node=${name} part="index" label="index.interval.bytes" />`}
  >
    ${partitions.map((one) => html`<${Partition} key=${`${one.topic}-${one.partition}`} name=${name} log=${one} />`)}
  </${Part}>`,
);

/** @type {(props: { name: string, log: Picture.Partition }) => any} */
const Partition = memo(({ name, log }) => {
  const groups = readersOf({ max: log.end, committed: log.committed }, compare);
  const element = `${log.topic}@${log.partition}`;
  return html`<section
    class=${`kafka-log ${accused.value.has(element) ? "is-accused" : ""}`}
    data-queue=${element}
    aria-label=${`${log.topic}-${log.partition}`}
  >
    <div class="kafka-log-head">
      <${PartitionName} topic=${log.topic} partition=${log.partition} />
      <span class="number quiet" title=${t("lab.kafka.offsets_hint")}>[${count(log.start)}, ${count(log.end)})</span>
      <span class="number" title=${t("lab.kafka.size_hint")}>${bytes(log.size_bytes)}</span>
      ${groups.map(
        (group) => html`<${CommitMark} key=${group.name} reader=${group} size=${1.2} class="kafka-committed">
          <span class="number">${count(group.offset)}</span>
        </${CommitMark}>`,
      )}
      <${ShortLag} readers=${groups} />
    </div>
    ${log.replica && html`<${Replica} name=${name} log=${log} />`}
    ${log.segments.map(
      (segment, index) => html`<${Segment}
        key=${segment.name}
        segment=${segment}
        tone=${topicMark(log.topic).tone}
        readTo=${log.replica ? log.replica.high_watermark : log.end}
        isActive=${index === log.segments.length - 1}
      />`,
    )}
  </section>`;
});

/** A file: its batches as blocks, and below those that the index knows a small entry. */
/** @type {(props: { segment: Picture.Segment, tone: string, readTo: number, isActive: boolean }) => any} */
const Segment = memo(({ segment, tone, readTo, isActive }) => {
  const shown = segment.batches.slice(-BLOCKS_MOST[density.value]);
  const facts = t("lab.kafka.segment_hint", {
    name: segment.name,
    size: bytes(segment.size_bytes),
    batches: segment.batch_count,
    entries: segment.index_entries,
  });
  return html`<div class=${`kafka-segment ${isActive ? "is-active" : ""}`}>
    <span class="mono quiet kafka-file" title=${facts}>…${String(segment.base_offset).padStart(4, "0")}.log</span>
    <${LogStrip}
      label=${facts} none=${t("lab.kafka.log_empty")} isCut=${segment.batch_count > shown.length}
      blocks=${shown.map(
        (batch) => html`<${Batch} key=${batch.offset} batch=${batch} tone=${tone} isAbove=${batch.offset >= readTo} />`,
      )}
    >
      ${
        segment.torn_bytes > 0 &&
        html`<span class="badge badge-bad">${t("lab.kafka.torn", { n: segment.torn_bytes })}</span>`
      }
    </${LogStrip}>
  </div>`;
});

/** @type {(props: { batch: Picture.Batch, tone: string, isAbove: boolean }) => any} */
const Batch = memo(({ batch, tone, isAbove }) => {
  const { offset, records, codec, size_bytes: size, is_indexed: isIndexed, is_unflushed: isUnflushed } = batch;
  const said = { first: offset, last: offset + records - 1, n: records, size: bytes(size), codec };
  const parts = [
    t("lab.kafka.batch", said),
    isIndexed && t("lab.kafka.indexed"),
    isUnflushed && t("commit_log.not_flushed"),
    isAbove && t("lab.kafka.above_high_watermark"),
  ];
  const text = parts.filter(Boolean).join(" · ");
  const marks = [isUnflushed && "is-unflushed", isIndexed && "is-indexed", isAbove && "is-above"].filter(Boolean);
  return html`<${LogBlock}
    class=${`kafka-block tone-${tone} ${marks.join(" ")}`} label=${text} data-batch=${offset}
    style=${{ "--share": Math.min(1, size / WIDEST_BYTES).toFixed(2) }} code=${records} offset=${offset}
  />`;
});
