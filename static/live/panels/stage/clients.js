// The two outer columns of the stage: connections that produce on the left, consumer groups with their members
// on the right. A connection that does both stands on both sides; it is one TCP connection all the same.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { clientVersion, compact, count, span } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { topicMark } from "../../../common/palette.js";
import { frameRates } from "../../frame_rates.js";
import { addresses, brokerNowMs, compare, groupNames, highlighted, isLagging, loaded, state } from "../../view.js";
import { Countdown, Empty, GlassmqCommand, GroupMark, LanguageBadge, TopicMark } from "./marks.js";

/** Cards per column; the rest is counted (and listed in the groups panel). */
const MOST_CARDS = 40;
const MOST_MEMBERS = 12;

export function Producers() {
  const connections = state.value.connections;
  const consumes = (address) => connections[address]?.role?.includes("consumer");
  const produces = (address) => connections[address]?.role?.includes("producer");
  // Whoever is neither (mqadmin, a client that has not said yet) stands on the left too.
  const listed = addresses.value.filter((address) => produces(address) || !consumes(address));
  return html`<div class="stage-column producers" aria-labelledby="producers-title">
    <h2 class="panel-title" id="producers-title">
      ${t("live.producers.title")} <span class="quiet number">${count(listed.length)}</span>
    </h2>
    <ul class="client-list" role="list" tabindex="0" aria-labelledby="producers-title">
      ${listed.slice(0, MOST_CARDS).map((address) => html`<${ProducerCard} key=${address} address=${address} />`)}
      <${More} n=${Math.max(0, listed.length - MOST_CARDS) + (state.value.omitted.connections ?? 0)} />
    </ul>
    ${loaded.value && listed.length === 0 && html`<${NoProducers} />`}
  </div>`;
}

/** Senders that have left: this many, and for this long after their last message. */
const MOST_RECENT = 3;
const RECENT_MS = 600_000;

/** Nobody is connected. Many senders connect for one message only: then the newest records tell of them. */
function NoProducers() {
  const tail = useComputed(() => state.value.commit_log.tail);
  const last = tail.value.at(-1);
  if (!last) {
    return html`<${Empty} title=${t("live.producers.none")}>
      <p>${t("live.producers.none_next")}</p><${GlassmqCommand} words="send orders 'hello'" />
    </${Empty}>`;
  }
  const ago = (record) => span(brokerNowMs.value - record.store_ms);
  const senders = new Map(tail.value.map((record) => [record.born_host, record])); // each with its last record
  const gone = [...senders.values()]
    .filter(
      (record) => !(record.born_host in state.value.connections) && brokerNowMs.value - record.store_ms < RECENT_MS,
    )
    .sort((a, b) => b.offset - a.offset);
  return html`<${Empty} title=${t("live.producers.gone")}>
    <p>${t("live.producers.gone_next", { ago: ago(last) })}</p>
    ${
      gone.length > 0 &&
      html`
        <p>${t("live.producers.recent")}</p>
        <ul class="recent-senders" role="list">
          ${gone.slice(0, MOST_RECENT).map(
            (record) =>
              html`<li key=${record.born_host}>
                <span class="client-id">${record.born_host}</span>${" "}
                <${TopicMark} topic=${record.topic} />${" "}
                <span class="number">
                  ${t("live.producers.ago", { ago: ago(record) })}
                </span>
              </li>`,
          )}
          ${gone.length > MOST_RECENT && html`<li>${t("live.clients.more", { n: gone.length - MOST_RECENT })}</li>`}
        </ul>
      `
    }
    <p>${t("live.producers.another")}</p><${GlassmqCommand} words="send orders 'hello'" />
  </${Empty}>`;
}

/** What a list leaves out, because the page or the server bounds it. */
function More({ n }) {
  return n > 0 && html`<li class="quiet">${t("live.clients.more", { n })}</li>`;
}

function ProducerCard({ address }) {
  const found = useComputed(() => state.value.connections[address]);
  const client = found.value;
  if (!client) return null;
  const name = client.client_ids[0] ?? address;
  const groups = client.producer_groups ?? [];
  return html`<li class="card client" data-link=${`producer ${address}`} data-address=${address}>
    <p class="client-head">
      <${LanguageBadge} language=${client.language} />
      <strong class="client-group" title=${groups.join("\n")}>${groups[0] ?? roleText(client)}</strong>
      ${groups.length > 1 && html`<span class="quiet">+${groups.length - 1}</span>`}
    </p>
    <p
      class="client-id"
      title=${`${name}\n${address}\n${t("live.clients.version", { version: clientVersion(client.version) })}`}
    >
      ${name}
    </p>
    <${Frames} address=${address} client=${client} />
  </li>`;
}

function roleText(client) {
  return t(client.role?.includes("admin") ? "live.clients.admin" : "live.clients.unnamed");
}

function Frames({ address, client }) {
  const rate = useComputed(() => frameRates.value[address]);
  const row = (direction, total, perSecond) => html`<span
    class=${`frames frames-${direction}`}
    title=${t(`live.clients.frames_${direction}`, { frames: total })}
  >
    <span class="frames-arrow" aria-hidden="true"></span><span class="sr-only">${t(`live.clients.${direction}`)}</span>
    <span class="number">${compact(perSecond)}</span><span class="unit">/s</span>
  </span>`;
  return html`<p class="client-frames">
    ${row("in", client.frames_in, rate.value?.in ?? 0)}${row("out", client.frames_out, rate.value?.out ?? 0)}
    ${
      client.unsent_bytes > 0 &&
      html`<span class="badge badge-warning">${t("live.clients.unsent", { n: client.unsent_bytes })}</span>`
    }
  </p>`;
}

export function Consumers() {
  return html`<div class="stage-column consumers" aria-labelledby="consumers-title">
    <h2 class="panel-title" id="consumers-title">
      ${t("live.consumers.title")} <span class="quiet number">${count(groupNames.value.length)}</span>
    </h2>
    <ul class="client-list" role="list" tabindex="0" aria-labelledby="consumers-title">
      ${groupNames.value.slice(0, MOST_CARDS).map((group) => html`<${GroupCard} key=${group} group=${group} />`)}
      <${More} n=${Math.max(0, groupNames.value.length - MOST_CARDS) + (state.value.omitted.groups ?? 0)} />
    </ul>
    ${
      loaded.value &&
      groupNames.value.length === 0 &&
      html`<${Empty} title=${t("live.consumers.none")}>
        <p>${t("live.consumers.none_next")}</p><${GlassmqCommand} words="consume orders --group billing" />
      </${Empty}>`
    }
  </div>`;
}

function GroupCard({ group }) {
  const found = useComputed(() => state.value.groups[group]);
  if (!found.value) return null;
  const { members = {}, assignment = {}, lag = 0, message_model: model, consume_type: type } = found.value;
  const ids = Object.keys(members).sort(compare);
  return html`<li class="card group" data-group=${group}>
    <p class="group-head">
      <${GroupMark} group=${group} size=${1.6} /><strong class="group-name" title=${group}>${group}</strong>
      <span class=${`lag-chip ${isLagging(lag) ? "has-lag" : ""}`} title=${t("live.groups.lag_hint")}>
        ${t("live.groups.lag_short")} <span class="number">${compact(lag)}</span>
      </span>
    </p>
    <p class="quiet group-facts">
      ${model ? t(`live.groups.model_${model}`) : ""}${type ? ` · ${t(`live.groups.type_${type}`)}` : ""}
    </p>
    ${ids.length === 0 && html`<p class="group-offline">${t("live.groups.offline")}</p>`}
    <ul class="member-list" role="list">
      ${ids
        .slice(0, MOST_MEMBERS)
        .map(
          (id) => html`<${Member} key=${id} group=${group} id=${id} member=${members[id]} assignment=${assignment} />`,
        )}
    </ul>
    ${
      ids.length > MOST_MEMBERS &&
      html`<p class="quiet">${t("live.clients.more", { n: ids.length - MOST_MEMBERS })}</p>`
    }
  </li>`;
}

function Member({ group, id, member, assignment }) {
  const client = useComputed(() => state.value.connections[member.address]);
  const isMarked = useComputed(() => isOwner(highlighted.value, assignment, id));
  const queues = ownedQueues(assignment, id);
  return html`<li
    class=${`member ${isMarked.value ? "is-marked" : ""}`}
    data-link=${`consumer ${member.address}`}
    data-client=${id}
  >
    <p class="client-head">
      <${LanguageBadge} language=${member.language} />
      <span class="client-id" title=${`${id}\n${member.address}`}>${id}</span>
    </p>
    <ul class="queue-chips" role="list" aria-label=${t("live.groups.owns", { n: queues.length })}>
      ${queues.length === 0 && html`<li class="quiet">${t("live.groups.owns_none")}</li>`}
      ${queues.map(
        ({ topic, queueId }) =>
          html`<${QueueChip} key=${`${topic}@${queueId}`} group=${group} topic=${topic} queueId=${queueId} />`,
      )}
    </ul>
    ${client.value && html`<${Frames} address=${member.address} client=${client.value} />`}
  </li>`;
}

function isOwner(at, assignment, id) {
  if (!at?.topic) return false;
  const owners = assignment[at.topic] ?? {};
  return at.queueId === undefined ? Object.values(owners).includes(id) : owners[at.queueId] === id;
}

/** Queues that the client pulled last, ordinary topics first; its retry topic comes after them. */
function ownedQueues(assignment, id) {
  const rank = (topic) => (topic.startsWith("%") ? 1 : 0);
  return Object.keys(assignment)
    .sort((a, b) => rank(a) - rank(b) || compare(a, b))
    .flatMap((topic) =>
      Object.keys(assignment[topic])
        .filter((queueId) => assignment[topic][queueId] === id)
        .sort((a, b) => a - b)
        .map((queueId) => ({ topic, queueId })),
    );
}

/** One owned queue; the bar under it is the time a held pull still waits for a message. */
function QueueChip({ group, topic, queueId }) {
  const pull = useComputed(() => state.value.groups[group]?.held_pulls?.[`${topic}@${queueId}`]);
  const lock = useComputed(() => state.value.locks[group]?.[`${topic}@${queueId}`]);
  const mark = topicMark(topic);
  const name = t("live.groups.queue_of", { topic, id: queueId });
  const mine = { topic, queueId };
  return html`<li
    class=${`queue-chip tone-${mark.tone}`}
    title=${name}
    onPointerEnter=${() => (highlighted.value = mine)}
    onPointerLeave=${() => (highlighted.value = null)}
  >
    <span class="queue-chip-text">
      <span aria-hidden="true">${mark.code}·${queueId}</span><span class="sr-only">${name}</span>
      ${
        lock.value &&
        html`<span class="lock-sign" title=${t("live.locks.locked")}>
          <span class="sr-only">${t("live.locks.locked")}</span>
        </span>`
      }
    </span>
    <${HeldPull} pull=${pull.value} />
  </li>`;
}

function HeldPull({ pull }) {
  if (!pull) return html`<span class="countdown is-empty"></span>`;
  const left = pull.since_ms + pull.timeout_ms - brokerNowMs.value;
  return html`<${Countdown}
    left=${left}
    whole=${pull.timeout_ms}
    label=${t("live.pulls.left", { seconds: Math.max(0, Math.ceil(left / 1000)) })}
  />`;
}
