// @ts-check
// A broker: consume queues with every group's offset, locks, half messages, delay levels, held pulls, and the commit
// log as it grows.

import { html } from "htm/preact";
import { bytes, count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { GroupMark, TopicMark } from "../lane/marks.js";
import { topicMark } from "../../common/palette.js";
import { shortMs } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";
import { Roving } from "../../common/roving.js";
import { isFocus } from "../stage/folding.js";
import { isPointed, openRecord, pointedKey } from "../../common/world/view.js";
import { DelayLevelsPart } from "./delay_levels.js";
import { BrokerLocks, BrokerPill } from "./locks.js";
import { NodeCard } from "./node_card.js";
import { Part, Rule } from "./part.js";
import { Queues } from "./queues.js";
import { Replication } from "./replication.js";
import { Transactions } from "./transactions.js";

export const Broker = memo(({ name, node }) => {
  const topics = node.topics ?? EMPTY;
  const records = node.commit_log?.records ?? NONE;
  const isOff = node.switched_off?.includes("broker-lock") ?? false;
  const lock = t("lab.order.broker_name");
  const beforehand = isFocus("locks") && html`<${BrokerPill} broker=${name} isOff=${isOff} name=${lock} />`;
  return html`<${NodeCard} name=${name} node=${node} summary=${summaryOf(topics)} beforehand=${beforehand}>
    <${Queues} broker=${name} topics=${topics} records=${records} />
    <${BrokerLocks} broker=${name} locks=${node.locks ?? NONE} isOff=${isOff} />
    ${node.transactions && html`<${Transactions} broker=${name} part=${node.transactions} />`}
    ${node.delay_levels && html`<${DelayLevelsPart} broker=${name} part=${node.delay_levels} />`}
    ${node.replication && html`<${Replication} part=${node.replication} end=${node.commit_log?.max ?? 0} />`}
    <${HeldPulls} broker=${name} pulls=${node.held_pulls ?? NONE} />
    ${node.commit_log && html`<${CommitLog} broker=${name} log=${node.commit_log} />`}
  </${NodeCard}>`;
});

const NONE = [];
const EMPTY = {};

/** "14 messages in 1 topic", of what applications have sent. */
function summaryOf(topics) {
  const plain = Object.values(topics).filter(({ kind = "normal" }) => kind === "normal");
  const messages = plain.flatMap(({ queues = {} }) => Object.values(queues)).reduce((sum, { max = 0 }) => sum + max, 0);
  return t("lab.broker.summary", { n: messages, topics: plain.length });
}

// ------------------------------------------------------------------------------------------------- commit log

const CommitLog = memo(({ broker, log }) => {
  const { records = [], flushed = 0, dispatched = 0, max = 0 } = log;
  const figure = (key, value, kind = "") =>
    html`<span class=${`figure ${kind}`} title=${t(`commit_log.${key}_hint`)}>
      <span class="quiet">${t(`commit_log.${key}`)}</span> <span class="number">${value}</span>
    </span>`;
  return html`<${Part}
    part="commit_log"
    name=${t("commit_log.title")}
    summary=${html`
      ${figure("end", count(max))} ${figure("unflushed", bytes(max - flushed), max > flushed ? "has-lag" : "")}
      ${isFocus("commit_log") && max > dispatched && figure("undispatched", bytes(max - dispatched))}
    `}
    tools=${html`<${Rule} node=${broker} part="commit_log" label=${t("lab.log.flush_every")} />`}
    class="commit-log"
  >
    <${Roving} class="log-blocks" role="group" aria-label=${t("commit_log.strip", { n: records.length })}>
      ${records.length === 0 && html`<span class="strip-empty">${t("commit_log.none")}</span>`}
      ${records.map(
        (record) =>
          html`<${RecordBlock}
            key=${record.offset}
            broker=${broker}
            record=${record}
            unflushed=${record.offset + record.size > flushed}
          />`,
      )}
      <span class="strip-end" aria-hidden="true"></span>
    </${Roving}>
  </${Part}>`;
});

const RecordBlock = memo(({ broker, record, unflushed }) => {
  const mark = topicMark(record.topic);
  const { key } = record;
  const label = t("lab.log.record", {
    topic: record.topic,
    id: record.queue_id,
    offset: record.queue_offset,
    key: key || "–",
  });
  return html`<button
    type="button"
    class=${`block tone-${mark.tone} ${unflushed ? "is-unflushed" : ""} ${isPointed(key) ? "is-pointed" : ""}`}
    tabindex="-1"
    data-roving
    data-record=${record.offset}
    aria-label=${label}
    title=${`${label}${unflushed ? ` · ${t("commit_log.not_flushed")}` : ""}`}
    onClick=${() => (openRecord.value = { broker, record })}
    onPointerEnter=${() => (pointedKey.value = key || null)}
    onPointerLeave=${() => (pointedKey.value = null)}
  >
    <span class="block-code">${mark.code}</span>
    <span class="block-offset">
      ${record.topic.startsWith("%") ? `Q${record.queue_id}` : shortKey(key) || `Q${record.queue_id}`}
    </span>
  </button>`;
});

/** "order-17" -> "17": what tells a block from its neighbours. */
const shortKey = (key) => key.match(/([^-_:/ ]{1,4})$/)?.[1] ?? "";

// ------------------------------------------------------------------------------------------------ held pulls

const HELD_MOST = 16;

/** Pulls that wait for messages: a line with a chip each. */
const HeldPulls = memo(
  ({ broker, pulls }) =>
    pulls.length > 0 &&
    html`<${Part}
      part="held_pulls"
      name=${t("lab.held.title")}
      summary=${html`<span class="quiet number">${t("lab.waiting", { n: pulls.length })}</span>`}
      tools=${html`<${Rule} node=${broker} part="held_pulls" />`}
      class="held-pulls"
      data-part="held-pulls"
    >
      <ul class="chips">
        ${pulls.slice(0, HELD_MOST).map(
          (pull) => html`<li
            key=${`${pull.group} ${pull.topic}@${pull.queue_id}`}
            class="chip"
            title=${t("lab.held.hint", { offset: pull.offset, time: shortMs(pull.timeout_ms), client: pull.client_id })}
          >
            <${GroupMark} group=${pull.group} size=${1} />
            <${TopicMark} topic=${pull.topic} />
            <span class="mono">Q${pull.queue_id}</span>
          </li>`,
        )}
        ${pulls.length > HELD_MOST && html`<li class="quiet">+${pulls.length - HELD_MOST}</li>`}
      </ul>
    </${Part}>`,
);
