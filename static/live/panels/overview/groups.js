// @ts-check
// Consumer groups in full: members, subscriptions, who owns which queue, held pulls and locks with the time left.

import { html } from "htm/preact";
import { useComputed, useSignal } from "@preact/signals";
import { clientVersion, count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { ClientSign, fullName } from "../../client_name.js";
import { Bolt } from "../../faults/bolt.js";
import { brokerClock } from "../../../common/cluster/clock.js";
import { compare } from "../../../common/cluster/lists.js";
import { isLagging, lagAt } from "../../../common/topics.js";
import { loaded, state } from "../../../common/cluster/view.js";
import { GroupChoice, shownGroup } from "../group_choice.js";
import { NoConsumers } from "../nothing_yet.js";
import { ResetButton } from "../operator/reset_button.js";
import { Button } from "../../../parts/controls/button.js";
import { PullTime } from "../../../parts/nodes/queue/held_pull.js";
import { LeaseTime } from "../../../parts/nodes/queue/locks.js";
import { GroupMark, LanguageBadge, TopicMark } from "../../../parts/lane/marks.js";
import { Panel } from "../../../parts/panel/panel.js";
import { Heads } from "../../../parts/panel/heads.js";

/** Rows of one group's queue table before a button offers the rest. */
const MOST_ROWS = 32;
const QUEUE_COLUMNS = [
  "field.queue_id",
  "live.groups.owner",
  ["live.groups.committed", "number"],
  ["live.groups.max", "number"],
  ["live.metrics.lag", "number"],
  ["pull.title", "", "pull.hint"],
  "live.locks.title",
];

export function Groups() {
  const group = shownGroup();
  const head = group !== undefined && html`<${GroupChoice} group=${group} />`;
  return html`<${Panel} id="groups" title=${t("live.groups.title")} head=${head}>
    ${group !== undefined && html`<${GroupDetails} key=${group} group=${group} />`}
    ${loaded.value && group === undefined && html`<${NoConsumers} />`}
  </${Panel}>`;
}

function GroupDetails({ group }) {
  const found = useComputed(() => state.value.groups[group]);
  if (!found.value) return null;
  const { message_model: model, consume_type: type, consume_from_where: from, subscriptions, members } = found.value;
  const fact = (key, value) => value && html`<div class="fact"><dt>${t(key)}</dt><dd>${value}</dd></div>`;
  return html`<div class="group-details">
    <dl class="facts">
      <div class="fact fact-name">
        <dt class="sr-only">${t("word.consumer_group")}</dt>
        <dd><${GroupMark} group=${group} size=${1.85} /> <strong>${group}</strong></dd>
      </div>
      ${fact("live.groups.model", model && t(`live.groups.model_${model}`))}
      ${fact("live.groups.type", type && t(`live.groups.type_${type}`))}
      ${fact("live.groups.from", from && t(`live.groups.from_${from}`))}
      ${fact(
        "live.metrics.lag",
        found.value.lag === null
          ? t("live.groups.no_lag")
          : html`<span class="number">${count(found.value.lag ?? 0)}</span>`,
      )}
    </dl>
    ${found.value.lag !== null && html`<p><${ResetButton} group=${group} /></p>`}
    <div class="group-tables">
      <${Members} members=${members} />
      <${Subscriptions} subscriptions=${subscriptions} />
    </div>
    <${QueueTable} group=${group} details=${found.value} />
  </div>`;
}

/** A table under its title; `none`: what is said when it has no rows. */
function TableBlock({ title, kind, columns, rows, none, children }) {
  const table = html`<table class=${kind}><${Heads} columns=${columns} /><tbody>${rows}</tbody></table>`;
  const shown = kind ? html`<div class="table-scroll">${table}</div>` : table;
  return html`<div class="table-block" tabindex="0" role="group" aria-label=${title}>
    <h3>${title}</h3>
    ${rows.length === 0 ? html`<p class="quiet">${none}</p>` : shown}${children}
  </div>`;
}

function Members({ members }) {
  const ids = Object.keys(members).sort(compare);
  const title = t("live.groups.members", { n: ids.length });
  const columns = ["live.groups.client", "live.groups.language", "live.groups.address"];
  const rows = ids.map(
    (id) => html`<tr key=${id}>
      <td class="mono"><${ClientSign} id=${id} /> ${id}</td>
      <td>
        <${LanguageBadge} language=${members[id].language} />${" "}
        <span class="quiet">${clientVersion(members[id].version)}</span>
      </td>
      <td class="mono">${members[id].address}</td>
    </tr>`,
  );
  return html`<${TableBlock} title=${title} columns=${columns} rows=${rows} none=${t("live.groups.offline")} />`;
}

function Subscriptions({ subscriptions }) {
  const topics = Object.keys(subscriptions).sort(compare);
  const title = t("live.groups.subscriptions", { n: topics.length });
  const columns = ["field.topic", "live.groups.expression", ["live.groups.filtered", "number"]];
  const rows = topics.map(
    (topic) => html`<tr key=${topic}>
      <td><span class="topic-cell"><${TopicMark} topic=${topic} /><span>${topic}</span></span></td>
      <td>
        <code>${subscriptions[topic].expression}</code>${" "}
        <span class="quiet">${subscriptions[topic].type}</span>
      </td>
      <td class="number">${filtered(subscriptions[topic])}</td>
    </tr>`,
  );
  const none = t("live.groups.no_subscriptions");
  return html`<${TableBlock} title=${title} columns=${columns} rows=${rows} none=${none} />`;
}

/** How many messages the broker's filter let through and kept back. */
function filtered({ expression, let_through: through = 0, kept_back: back = 0 }) {
  return expression === "*"
    ? html`<span class="quiet">${t("live.groups.filtered_none")}</span>`
    : `${count(through)} / ${count(back)}`;
}

/** Every queue that the group has an owner, an offset, a held pull or a lock for. */
function QueueTable({ group, details }) {
  const whole = useSignal(false);
  const locks = useComputed(() => state.value.locks[group] ?? {});
  const rows = queueRows(group, details, locks.value, state.value.topics);
  const shown = whole.value ? rows : rows.slice(0, MOST_ROWS);
  const title = t("live.groups.queues", { n: rows.length });
  return html`<${TableBlock}
    title=${title}
    kind="queue-table"
    columns=${QUEUE_COLUMNS}
    rows=${shown.map((row) => html`<${QueueRow} key=${row.key} group=${group} ...${row} />`)}
    none=${t("live.groups.no_queues")}
  >
    ${
      shown.length < rows.length &&
      html`<${Button} onClick=${() => (whole.value = true)}>
        ${t("live.groups.show_all", { n: rows.length })}
      </${Button}>`
    }
  <//>`;
}

function queueRows(group, details, locks, topics) {
  const keys = new Set([...Object.keys(details.held_pulls), ...Object.keys(locks)]);
  for (const [topic, owners] of Object.entries(details.assignment))
    for (const id of Object.keys(owners)) keys.add(`${topic}@${id}`);
  for (const [topic, { queues }] of Object.entries(topics)) {
    for (const [id, queue] of Object.entries(queues)) if (group in queue.committed) keys.add(`${topic}@${id}`);
  }
  return [...keys]
    .map((key) => {
      const at = key.lastIndexOf("@");
      const [topic, queueId] = [key.slice(0, at), key.slice(at + 1)];
      const queue = topics[topic]?.queues[queueId];
      return {
        key,
        topic,
        queueId,
        max: queue?.max,
        committed: queue?.committed[group],
        owner: details.assignment?.[topic]?.[queueId],
        pull: details.held_pulls?.[key],
        lock: locks[key],
      };
    })
    .sort((a, b) => compare(a.topic, b.topic) || Number(a.queueId) - Number(b.queueId));
}

function QueueRow({ group, topic, queueId, owner, committed, max, pull, lock }) {
  const lag = committed === undefined || max === undefined ? null : lagAt(committed, max);
  return html`<tr>
    <td>
      <span class="topic-cell">
        <${TopicMark} topic=${topic} />
        <span class="ellipsis" title=${topic}>${topic}</span> <span class="number">Q${queueId}</span>
        <${Bolt} kind="queue" facts=${{ group, topic, queueId }} name=${`${topic} Q${queueId}`} />
      </span>
    </td>
    <td class="mono" title=${owner}>
      <${ClientSign} id=${owner} /> ${owner ?? html`<span class="quiet">${t("word.none")}</span>`}</td>
    <td class="number">${count(committed)}</td><td class="number">${count(max)}</td>
    <td class=${`number ${isLagging(lag) ? "has-lag" : ""}`}>${count(lag)}</td>
    <td class="timer-cell">
      ${pull && html`<span class="timer"><${PullTime} pull=${pull} clock=${brokerClock} /></span>`}
    </td>
    <td class="timer-cell">${
      lock &&
      html`<span class="timer" title=${t("word.held_by", { id: fullName(lock.client_id) })}>
        <${LeaseTime} lock=${lock} clock=${brokerClock} />
      </span>`
    }</td>
  </tr>`;
}
