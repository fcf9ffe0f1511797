// A broker: the commit log as it grows, the consume queues with every group's offset, locks, delay levels, held pulls.

import { html } from "htm/preact";
import { bytes, count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { GroupMark, TopicMark } from "../../live/panels/stage/marks.js";
import { topicMark } from "../../common/palette.js";
import { shortMs } from "../format.js";
import { memo } from "../memo.js";
import { settingOfPart } from "../settings.js";
import { entriesShown } from "../panels/controls/dock.js";
import { DeadLettersButton } from "../panels/messages/dead_letters.js";
import { SettingButton } from "../panels/controls/settings.js";
import { Roving } from "../roving.js";
import { accused, compare, isPointed, openRecord, pointedKey, view } from "../view.js";
import { DelayLevels } from "./delay_levels.js";
import { Bar, NodeCard } from "./node_card.js";
import { Transactions } from "./transactions.js";

export const Broker = memo(
  ({ name, node }) => html`<${NodeCard} name=${name} node=${node}>
    ${node.commit_log && html`<${CommitLog} broker=${name} log=${node.commit_log} />`}
    <${Queues} broker=${name} topics=${node.topics ?? EMPTY} records=${node.commit_log?.records ?? NONE} />
    ${node.transactions && html`<${Transactions} broker=${name} part=${node.transactions} />`}
    <div class="broker-tables">
      <${Locks} broker=${name} locks=${node.locks ?? NONE} isOff=${node.switched_off?.includes("broker-lock")} />
      ${node.delay_levels && html`<${DelayLevels} broker=${name} part=${node.delay_levels} />`}
      <${HeldPulls} broker=${name} pulls=${node.held_pulls ?? NONE} />
    </div>
  </${NodeCard}>`,
);

const NONE = [];
const EMPTY = {};
const DEAD_LETTER_PREFIX = "%DLQ%";

// ------------------------------------------------------------------------------------------------- commit log

const CommitLog = memo(({ broker, log }) => {
  const { records = [], flushed = 0, dispatched = 0, max = 0 } = log;
  const figure = (key, value) =>
    html`<span class="figure" title=${t(`lab.log.${key}_hint`)}>
      <span class="quiet">${t(`lab.log.${key}`)}</span> <span class="number">${value}</span>
    </span>`;
  return html`<section class="commit-log" aria-label=${t("lab.log.title")}>
    <div class="part-head">
      <h3>${t("lab.log.title")}</h3>${figure("end", count(max))}
      <span class=${max > flushed ? "has-lag" : ""}>${figure("unflushed", bytes(max - flushed))}</span>
      <${Rule} broker=${broker} part="commit_log" />
      ${max > dispatched && figure("undispatched", bytes(max - dispatched))}
    </div>
    <${Roving} class="strip" role="group" aria-label=${t("lab.log.strip", { n: records.length })}>
      ${records.length === 0 && html`<span class="strip-empty">${t("lab.log.none")}</span>`}
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
  </section>`;
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
    title=${`${label}${unflushed ? ` · ${t("lab.log.not_flushed")}` : ""}`}
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

// ---------------------------------------------------------------------------------------------- consume queues

const KIND_ORDER = ["normal", "retry", "dlq", "delay", "half", "op", "system"];

const Queues = memo(({ broker, topics, records }) => {
  const shown = Object.keys(topics)
    .filter((name) => isShown(topics[name]))
    .sort((a, b) => KIND_ORDER.indexOf(topics[a].kind) - KIND_ORDER.indexOf(topics[b].kind) || compare(a, b));
  return html`<section class="queues" aria-label=${t("lab.queues.title")}>
    ${shown.length === 0 && html`<p class="node-line quiet">${t("lab.queues.none")}</p>`}
    ${shown.map(
      (name) => html`<${Topic} key=${name} broker=${broker} name=${name} topic=${topics[name]} records=${records} />`,
    )}
  </section>`;
});

/** System topics only once something is in them. */
const isShown = ({ kind, queues }) =>
  kind === "normal" || kind === undefined || Object.values(queues ?? {}).some((queue) => queue.max > 0);

const Topic = memo(({ broker, name, topic, records }) => {
  const ids = Object.keys(topic.queues ?? {})
    .filter((id) => topic.kind === "normal" || topic.kind === undefined || topic.queues[id].max > 0)
    .sort((a, b) => a - b);
  return html`<section class=${`topic topic-${topic.kind ?? "normal"}`} aria-label=${name}>
    <div class="part-head">
      <h3><${TopicMark} topic=${name} /> <span class="ellipsis">${name}</span></h3>
      ${
        topic.kind &&
        topic.kind !== "normal" &&
        html`<span class=${`kind kind-${topic.kind}`}>${t(`lab.queues.kind_${topic.kind}`)}</span>`
      }
      ${
        topic.kind === "dlq" &&
        ids.length > 0 &&
        html`<${DeadLettersButton} broker=${broker} group=${name.slice(DEAD_LETTER_PREFIX.length)} />`
      }
    </div>
    ${ids.map(
      (id) =>
        html`<${Queue}
          key=${id}
          broker=${broker}
          topic=${name}
          id=${id}
          queue=${topic.queues[id]}
          records=${records}
        />`,
    )}
  </section>`;
});

/** The newest entries; each group's mark stands before the first entry that it has not committed. */
const Queue = memo(({ broker, topic, id, queue, records }) => {
  const { min = 0, max = 0, committed = {} } = queue;
  const entries = (queue.entries ?? NONE).slice(-entriesShown.value);
  const groups = Object.keys(committed).sort(compare);
  const first = entries[0]?.queue_offset ?? max;
  const least = groups.length > 0 ? Math.min(...groups.map((group) => committed[group])) : 0;
  const place = (offset) => Math.min(Math.max(offset, first), max) - first;
  const lag = groups.length > 0 ? Math.max(0, max - least) : null;
  const openEntry = (entry) =>
    (openRecord.value = {
      broker,
      record: records.find((record) => record.offset === entry.offset) ?? { ...entry, topic, queue_id: Number(id) },
    });
  const name = `${topic}@${id}`;
  return html`<div class=${`queue ${accused.value.has(name) ? "is-accused" : ""}`} data-queue=${name}>
    <span class="queue-name mono">Q${id}</span>
    <${Roving} class="cells" role="group" aria-label=${t("lab.queues.label", { id, min, max, lag: lag ?? 0 })}>
      ${first > min && html`<span class="cells-more quiet" title=${t("lab.queues.older", { n: first - min })}>…</span>`}
      <span class="cells-row">
        ${entries.map(
          (entry) =>
            html`<${Cell}
              key=${entry.queue_offset}
              tone=${topicMark(topic).tone}
              entry=${entry}
              done=${groups.length > 0 && entry.queue_offset < least}
              onOpen=${openEntry}
            />`,
        )}
        ${groups.map(
          (group, index) => html`<span
            key=${`g${group}`}
            class="offset-mark"
            data-committed=${group}
            style=${{ transform: `translateX(calc(${place(committed[group])} * var(--cell) + ${index * 0.35}rem))` }}
            title=${t("lab.queues.committed", {
              group,
              offset: committed[group],
              lag: Math.max(0, max - committed[group]),
            })}
          >
            <${GroupMark} group=${group} size=${1.05} />
          </span>`,
        )}
      </span>
    </${Roving}>
    <span class=${`queue-lag number ${lag > 0 ? "has-lag" : "quiet"}`} title=${t("lab.queues.lag_hint")}>
      ${lag === null ? `${count(max)}` : lag > 0 ? t("lab.queues.lag", { n: lag }) : "✓"}
    </span>
  </div>`;
});

const Cell = memo(
  ({ tone, entry, done, onOpen }) => html`<button
    type="button"
    data-entry=${entry.queue_offset}
    class=${`cell tone-${tone} ${done ? "is-done" : ""} ${isPointed(entry.key) ? "is-pointed" : ""}`}
    tabindex="-1"
    data-roving
    aria-label=${t("lab.queues.entry", { offset: entry.queue_offset, key: entry.key || "–" })}
    title=${t("lab.queues.entry", { offset: entry.queue_offset, key: entry.key || "–" })}
    onClick=${() => onOpen(entry)}
    onPointerEnter=${() => (pointedKey.value = entry.key || null)}
    onPointerLeave=${() => (pointedKey.value = null)}
  >
    ${String(entry.queue_offset).slice(-3)}
  </button>`,
);

// ---------------------------------------------------------------------------------------------- locks, held pulls

/** The setting that rules a part of the card. */
const Rule = ({ broker, part }) => html`<${SettingButton} node=${broker} name=${settingOfPart(broker, part)} />`;

const Locks = memo(
  ({ broker, locks, isOff }) =>
    locks.length > 0 &&
    html`<section class="broker-table" aria-label=${t("lab.locks.title")}>
      <h3>
        ${t("lab.locks.title")}${" "}
        ${isOff && html`<span class="badge badge-warning" title=${t("lab.locks.off")}>${t("lab.order.off")}</span>`}
        <${Rule} broker=${broker} part="locks" />
      </h3>
      <ul class="lock-rows">
        ${locks.map(
          (lock) => html`<li
            key=${`${lock.group} ${lock.topic}@${lock.queue_id}`}
            class="lock-row"
            data-lock=${`${lock.group} ${lock.topic}@${lock.queue_id}`}
          >
            <${GroupMark} group=${lock.group} size=${1.05} />
            <span class="mono">${lock.topic}@${lock.queue_id}</span>
            <span class="lock-owner ellipsis" title=${t("lab.locks.owner", { id: lock.client_id })}>
              ${ownerName(lock.client_id)}
            </span>
            <${Bar}
              left=${lock.lease_ms - lock.age_ms}
              whole=${lock.lease_ms}
              kind="bar-lease"
              label=${t("lab.locks.left", { time: shortMs(Math.max(0, lock.lease_ms - lock.age_ms)) })}
            />
            <span class="number">${shortMs(Math.max(0, lock.lease_ms - lock.age_ms))}</span>
          </li>`,
        )}
      </ul>
    </section>`,
);

/** The node with the address in "10.0.0.4@1234#5", with a sign when its process is gone: its locks are not. */
function ownerName(clientId = "") {
  const address = clientId.split("@")[0];
  const [name, node] = Object.entries(view.peek().nodes).find(([, each]) => each.ip === address) ?? [];
  if (!name) return clientId;
  return node.client_id === clientId
    ? name
    : html`
      ${name}${" "}
      <span class="lock-gone" title=${t("lab.locks.gone")}>
        ✕<span class="sr-only">${t("lab.locks.gone")}</span>
      </span>
    `;
}

const HeldPulls = memo(
  ({ broker, pulls }) =>
    pulls.length > 0 &&
    html`<section class="broker-table" data-part="held-pulls" aria-label=${t("lab.held.title")}>
      <h3>
        ${t("lab.held.title")}${" "}
        <span class="quiet number">${pulls.length}</span>${" "}
        <${Rule} broker=${broker} part="held_pulls" />
      </h3>
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
    </section>`,
);

const HELD_MOST = 16;
