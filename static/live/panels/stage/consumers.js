// @ts-check
// The column at the right of the stage: consumer groups, what becomes of their backlog, and their members with the
// queues that they own.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { topicMark } from "../../../common/palette.js";
import { ClientSign, nameOf } from "../../client_name.js";
import { Bolt } from "../../faults/bolt.js";
import { brokerClock } from "../../../common/cluster/clock.js";
import { brokerLanes } from "../../../common/cluster/lanes.js";
import { compare, groupNames } from "../../../common/cluster/lists.js";
import { highlighted } from "../../../common/cluster/selection.js";
import { isReadBy } from "../../../common/topics.js";
import { loaded, state } from "../../../common/cluster/view.js";
import { walkAlong } from "../../walk.js";
import { NoConsumers } from "../nothing_yet.js";
import { ResetButton } from "../operator/reset_button.js";
import { Frames, MOST_CARDS, More } from "./clients.js";
import { PullBar, pullWords } from "../../../parts/nodes/queue/held_pull.js";
import { leaseWords } from "../../../parts/nodes/queue/locks.js";
import { LagSentence } from "../../../parts/lane/lag_words.js";
import { GroupMark, LanguageBadge } from "../../../parts/lane/marks.js";

const MOST_MEMBERS = 12;

export function Consumers() {
  return html`<div class="stage-column consumers" aria-labelledby="consumers-title">
    <h2 class="panel-title" id="consumers-title">
      ${t("word.consumer_groups")} <span class="quiet number">${count(groupNames.value.length)}</span>
    </h2>
    <ul class="client-list" role="list" tabindex="0" aria-labelledby="consumers-title">
      ${groupNames.value.slice(0, MOST_CARDS).map((group) => html`<${GroupCard} key=${group} group=${group} />`)}
      <${More} n=${Math.max(0, groupNames.value.length - MOST_CARDS) + (state.value.omitted.groups ?? 0)} />
    </ul>
    ${loaded.value && groupNames.value.length === 0 && html`<${NoConsumers} />`}
  </div>`;
}

function GroupCard({ group }) {
  const found = useComputed(() => state.value.groups[group]);
  const hasRead = useComputed(() => Object.values(state.value.topics).some((topic) => isReadBy(topic, group)));
  if (!found.value) return null;
  const { members, assignment, lag, message_model: model, consume_type: type } = found.value;
  const ids = Object.keys(members).sort(compare);
  const facts = [model && t(`live.groups.model_${model}`), type && t(`live.groups.type_${type}`)].filter(Boolean);
  return html`<li class="card group" data-group=${group}>
    <p class="group-head">
      <${GroupMark} group=${group} size=${1.6} />
      <strong class="group-name" title=${[group, ...facts].join("\n")}>${group}</strong>
      ${hasRead.value && html`<${ResetButton} group=${group} isShort=${true} />`}
      <${Bolt} kind="group" facts=${{ group }} name=${group} />
    </p>
    ${
      lag === null
        ? html`<p class="group-lag" title=${t("live.groups.no_lag")}><span class="badge">${facts[0]}</span></p>`
        : html`<p class="group-lag" title=${t("live.groups.lag_hint")}>
          <${LagSentence} group=${group} lag=${lag} source=${brokerLanes} clock=${brokerClock} />
        </p>`
    }
    ${ids.length === 0 && html`<p class="quiet">${t("live.groups.offline")}</p>`}
    <ul class="member-list" role="list">
      ${ids
        .slice(0, MOST_MEMBERS)
        .map(
          (id) => html`<${Member} key=${id} group=${group} id=${id} member=${members[id]} assignment=${assignment} />`,
        )}
    </ul>
    ${ids.length > MOST_MEMBERS && html`<p class="quiet">${t("word.more", { n: ids.length - MOST_MEMBERS })}</p>`}
  </li>`;
}

function Member({ group, id, member, assignment }) {
  const client = useComputed(() => state.value.connections[member.address]);
  const isMarked = useComputed(() => isOwner(highlighted.value, assignment, id));
  const queues = ownedQueues(assignment, id);
  return html`<li class=${`member ${isMarked.value ? "is-marked" : ""}`} data-link=${`consumer ${member.address}`}>
    <p class="client-head">
      <${ClientSign} id=${id} />
      <${LanguageBadge} language=${member.language} />
      <span class="client-id" title=${`${id}\n${member.address}`}>${id}</span>
      <${Bolt} kind="client" facts=${{ client: id, name: nameOf(id), isConsumer: true }} name=${nameOf(id)} />
    </p>
    <ul
      class="queue-chips"
      role="list"
      aria-label=${t("live.groups.queues", { n: queues.length })}
      onKeyDown=${walkAlong(".queue-chip")}
    >
      ${queues.length === 0 && html`<li class="quiet">${t("live.groups.owns_none")}</li>`}
      ${queues.map(
        ({ topic, queueId }, index) =>
          html`<${QueueChip}
            key=${`${topic}@${queueId}`}
            group=${group}
            topic=${topic}
            queueId=${queueId}
            isFirst=${index === 0}
          />`,
      )}
    </ul>
    ${client.value && html`<${Frames} address=${member.address} client=${client.value} directions=${["in", "out"]} />`}
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
        .sort(compare)
        .map((queueId) => ({ topic, queueId })),
    );
}

/** One owned queue; the bar under it is the time a held pull still waits for a message. Focus says it in words. */
function QueueChip({ group, topic, queueId, isFirst }) {
  const pull = useComputed(() => state.value.groups[group]?.held_pulls?.[`${topic}@${queueId}`]);
  const lock = useComputed(() => state.value.locks[group]?.[`${topic}@${queueId}`]);
  const mark = topicMark(topic);
  const point = () => (highlighted.value = { topic, queueId });
  const leave = () => (highlighted.value = null);
  return html`<li
    class=${`queue-chip tone-${mark.tone}`}
    tabindex=${isFirst ? 0 : -1}
    onPointerEnter=${point}
    onPointerLeave=${leave}
    onFocus=${point}
    onBlur=${leave}
  >
    <span class="queue-chip-text" aria-hidden="true">
      ${mark.code}·${queueId} ${lock.value && html`<span class="lock-sign"></span>`}
    </span>
    ${
      pull.value
        ? html`<${PullBar} pull=${pull.value} clock=${brokerClock} />`
        : html`<span class="bar is-empty"></span>`
    }
    <${ChipWords} topic=${topic} queueId=${queueId} pull=${pull.value} lock=${lock.value} />
  </li>`;
}

/** What the chip's signs mean, over the card: for the pointer, the keyboard and screen readers. */
function ChipWords({ topic, queueId, pull, lock }) {
  return html`<span class="chip-words">
    <strong>${t("live.groups.queue_of", { topic, id: queueId })}</strong>
    ${lock && html`<span>${leaseWords({ lock, clock: brokerClock })}</span>`}
    ${pull && html`<span>${pullWords({ pull, clock: brokerClock })}</span>`}
  </span>`;
}
