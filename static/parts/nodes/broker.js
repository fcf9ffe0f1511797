// @ts-check
// A broker: consume queues with every group's offset, locks, half messages, delay levels, held pulls, and the commit
// log as it grows.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { GroupMark, TopicMark } from "../lane/marks.js";
import { topicMark } from "../../common/palette.js";
import { memo } from "../../common/memo.js";
import { isFocus } from "../stage/folding.js";
import { LogFigures, LogStrip, RecordBlock } from "../log/strip.js";
import { acting } from "../actions/thing.js";
import { isPointed, pointing } from "../../common/viewer/pointed.js";
import { compare, nodes, openRecord } from "../../common/world/view.js";
import { worldClock } from "../../common/world/world_clock.js";
import { DelayLevelsPart } from "./delay_levels.js";
import { NodeCard } from "./node_card.js";
import { Part, Rule } from "./part.js";
import { PullBar, pullWords } from "./queue/held_pull.js";
import { LockRow, Pill } from "./queue/locks.js";
import { Queues } from "./queues.js";
import { Replication } from "./replication.js";
import { Transactions } from "./transactions.js";

export const Broker = memo(({ name, node }) => {
  const topics = node.topics ?? EMPTY;
  const isOff = node.switched_off?.includes("broker-lock") ?? false;
  const lock = t("lab.order.broker_name");
  const beforehand = isFocus("locks") && html`<${BrokerPill} broker=${name} isOff=${isOff} name=${lock} />`;
  return html`<${NodeCard} name=${name} node=${node} summary=${summaryOf(topics)} beforehand=${beforehand}>
    <${Queues} broker=${name} topics=${topics} />
    <${BrokerLocks} broker=${name} locks=${node.locks ?? EMPTY} isOff=${isOff} />
    ${node.transactions && html`<${Transactions} broker=${name} part=${node.transactions} />`}
    ${node.delay_levels && html`<${DelayLevelsPart} broker=${name} part=${node.delay_levels} />`}
    ${node.replication && html`<${Replication} part=${node.replication} end=${node.commit_log?.max ?? 0} />`}
    <${HeldPulls} broker=${name} groups=${node.groups ?? EMPTY} />
    ${node.commit_log && html`<${CommitLog} broker=${name} log=${node.commit_log} />`}
  </${NodeCard}>`;
});

const EMPTY = {};

/** "14 messages in 1 topic", of what applications have sent. */
function summaryOf(topics) {
  const plain = Object.values(topics).filter(({ kind }) => kind === "normal");
  const messages = plain.flatMap(({ queues }) => Object.values(queues)).reduce((sum, { max }) => sum + max, 0);
  return t("lab.broker.summary", { n: messages, topics: plain.length });
}

// ------------------------------------------------------------------------------------------------- commit log

const CommitLog = memo(({ broker, log }) => {
  const { records, flushed, dispatched, max } = log;
  const kinds = { unflushed: max > flushed ? "has-lag" : "" };
  return html`<${Part}
    part="commit_log"
    name=${t("commit_log.title")}
    summary=${html`<${LogFigures} ...${{ log, kinds, hasQueues: isFocus("commit_log") && max > dispatched }} />`}
    tools=${html`<${Rule} node=${broker} part="commit_log" label=${t("lab.log.flush_every")} />`}
    class="commit-log"
  >
    <${LogStrip}
      label=${t("commit_log.strip", { n: records.length })} none=${t("commit_log.none")}
      blocks=${records.map(
        (record) =>
          html`<${Block}
            key=${record.offset} broker=${broker} record=${record}
            isFlushed=${record.offset + record.size_bytes <= flushed}
          />`,
      )}
    >
      <span class="strip-end" aria-hidden="true"></span>
    </${LogStrip}>
  </${Part}>`;
});

const Block = memo(({ broker, record, isFlushed }) => {
  const { key } = record;
  const label = t("lab.log.record", {
    topic: record.topic,
    id: record.queue_id,
    offset: record.queue_offset,
    key: key || "–",
  });
  return html`<${RecordBlock}
    class=${isPointed(key) ? "is-pointed" : ""} ...${{ record, isFlushed, lines: [label] }} separator=" · "
    data-record=${record.offset} onClick=${() => (openRecord.value = { broker, record })} ...${pointing(key || null)}
    code=${topicMark(record.topic).code}
    offset=${(!record.topic.startsWith("%") && shortKey(key)) || `Q${record.queue_id}`}
  />`;
});

/** "order-17" -> "17": what tells a block from its neighbours. */
const shortKey = (key) => key.match(/([^-_:/ ]{1,4})$/)?.[1] ?? "";

// ------------------------------------------------------------------------------------------------ held pulls

const HELD_MOST = 16;

/** Pulls that wait for messages: a line with a chip each. */
const HeldPulls = memo(({ broker, groups }) => {
  const pulls = Object.entries(groups).flatMap(([group, { held_pulls: held }]) =>
    Object.values(held).map((pull) => ({ group, pull })),
  );
  if (pulls.length === 0) return null;
  return html`<${Part}
    part="held_pulls"
    name=${t("pull.title")}
    summary=${html`<span class="quiet number" title=${t("pull.hint")}>
      ${t("lab.waiting", { n: pulls.length })}
    </span>`}
    tools=${html`<${Rule} node=${broker} part="held_pulls" label=${t("lab.half.interval")} />`}
    class="held-pulls"
  >
    <ul class="chips">
      ${pulls
        .slice(0, HELD_MOST)
        .map(
          ({ group, pull }) =>
            html`<${PullChip} key=${`${group} ${pull.topic}@${pull.queue_id}`} group=${group} pull=${pull} />`,
        )}
      ${pulls.length > HELD_MOST && html`<li class="quiet">+${pulls.length - HELD_MOST}</li>`}
    </ul>
  </${Part}>`;
});

const PullChip = memo(({ group, pull }) => {
  const words = pullWords({ pull, clock: worldClock });
  return html`<li class="chip" title=${pull.client_id ? `${pull.client_id}: ${words}` : words}>
    <${GroupMark} group=${group} size=${1} />
    <${TopicMark} topic=${pull.topic} />
    <span class="mono">Q${pull.queue_id}</span>
    <${PullBar} pull=${pull} clock=${worldClock} />
  </li>`;
});

// ----------------------------------------------------------------------------------------------------- locks

/** Whether the lock is on; `name` says which one where nothing else does.
    @param {{ broker: string, isOff: boolean, name?: string }} props */
function BrokerPill({ broker, isOff, name }) {
  const text = t(isOff ? "lab.locks.off_short" : "lab.locks.on");
  return html`<${Pill}
    letter="B"
    name=${name}
    title=${`${t("lab.order.broker")}: ${text}`}
    state=${isOff ? "off" : "held"}
    thing=${{ name: "broker-lock", node: broker }}
    act=${acting}
  >
    <span class="pill-state">${name ? t(isOff ? "lab.order.off" : "lab.order.on") : text}</span>
  </${Pill}>`;
}

const BrokerLocks = memo(({ broker, locks, isOff }) => {
  const rows = Object.entries(locks).flatMap(([group, held]) => Object.values(held).map((lock) => ({ group, lock })));
  if (rows.length === 0 && !isOff) return null;
  return html`<${Part}
    part="locks"
    name=${t("lab.order.broker_name")}
    summary=${html`<${BrokerPill} broker=${broker} isOff=${isOff} />`}
    keepsOpen=${isOff}
    tools=${html`<${Rule} node=${broker} part="locks" label=${t("lab.guard.expiry")} />`}
    class="broker-table"
  >
    <ul class="lock-rows">
      ${rows
        .sort((a, b) => isOwn(a.lock) - isOwn(b.lock) || compare(queueOf(a.lock), queueOf(b.lock)))
        .map(({ group, lock }) => {
          const owner = ownerOf(lock.client_id);
          const thing = { name: "broker-lock", node: broker, holder: owner.node, queueId: lock.queue_id };
          return html`<${LockRow}
            key=${`${group} ${queueOf(lock)}`}
            group=${group}
            lock=${lock}
            owner=${owner.text}
            clock=${worldClock}
            isOff=${isOff}
            mark=${html`<${GroupMark} group=${group} size=${1.35} />`}
            button=${acting("lock", thing)}
          />`;
        })}
    </ul>
  </${Part}>`;
});

const isOwn = ({ topic }) => Number(topic.startsWith("%"));
const queueOf = (lock) => `${lock.topic}@${lock.queue_id}`;

/** The node with the address in "10.0.0.4@1234#5", with a sign when its process is gone: its locks are not. */
function ownerOf(clientId) {
  const address = clientId.split("@")[0];
  const [name, node] = Object.entries(nodes.value).find(([, each]) => each.ip === address) ?? [];
  if (!name || !node) return { text: clientId };
  if (node.client_id === clientId) return { node: name, text: name };
  const gone = html`
    ${name}${" "}
    <span class="problem-text" title=${t("lab.locks.gone")}>✕<span class="sr-only">${t("lab.locks.gone")}</span></span>
  `;
  return { text: gone };
}
