// @ts-check
// A process queue of a live client, as the lab's stage draws one: its locks as pills, its messages as cells or as the
// tree that our own client reports. A click opens the record.

import { html } from "htm/preact";
import { count, span } from "../../../common/format.js";
import { faults } from "../../../common/faults.js";
import { t } from "../../../common/i18n.js";
import { topicMark } from "../../../common/palette.js";
import { keepsRoom } from "../../../parts/nodes/room.js";
import { layOut, Tree } from "../../../parts/nodes/tree.js";
import { Roving } from "../../../common/roving.js";
import { shortMs, shortOffset } from "../../../common/world/format.js";
import { Bolt } from "../../faults/bolt.js";
import { brokerNowMs, state } from "../../../common/cluster/view.js";
import { Countdown, TopicMark } from "../../../parts/lane/marks.js";
import { openMessage } from "./asking.js";
import { nameOf } from "./names.js";

/** rocketmq.client.rebalance.lockMaxLiveTime: how long a client trusts its lock. Ours reports it. */
const LOCK_MAX_LIVE_MS = 30_000;
const TREE_WIDTH = 300;
const MOST_CELLS = 8;

/** A topic of RocketMQ's own, as the group's retry topic, is mostly empty: then a line says enough. */
const isIdle = ({ topic, count: waiting, in_hand: inHand }) => topic.startsWith("%") && !waiting && !inHand;

export function ProcessQueue({ group, queue, member, now, holders, isTrees }) {
  const { topic, broker, queue_id: queueId, dropped } = queue;
  const name = `${topic}@${queueId}`;
  const others = (holders.get(`${topic}@${broker}@${queueId}`) ?? []).filter((id) => id !== member.client_id);
  const held = queue.count === null ? null : queue.count + (queue.in_hand ?? 0);
  const isElsewhere = broker !== state.value.cluster.broker_name;
  return html`<section
    class=${`process-queue ${dropped ? "is-dropped" : ""} ${isIdle(queue) ? "is-idle" : ""}`}
    data-process-queue=${name}
    aria-label=${`${member.client_id} ${name}`}
    ref=${keepsRoom}
  >
    <header class="process-head">
      <${TopicMark} topic=${topic} />
      <strong title=${`${topic} Q${queueId} · ${broker}`}>Q${queueId}</strong>
      ${isElsewhere && html`<span class="badge">${broker}</span>`}
      ${
        held !== null &&
        html`<span class="number" title=${t("lab.consumer.held")}>${t("lab.consumer.held_short", { n: held })}</span>`
      }
      ${
        queue.flow_control &&
        html`<span class="badge badge-warning" data-flow-control=${queue.flow_control}>
          <span class="flow-sign" aria-hidden="true">❚❚</span> ${t(`lab.consumer.flow_${queue.flow_control}_short`)}
        </span>`
      }
      ${
        dropped &&
        html`<span class="badge badge-off" title=${t("lab.consumer.dropped_hint")}>${t("lab.consumer.dropped")}</span>`
      }
      ${
        !dropped &&
        others.map(
          (id) => html`<span key=${id} class="badge badge-bad" title=${id}>
              ${t("live.internals.also_at", { id: nameOf(group, id) })}
            </span>`,
        )
      }
      <span class="pull-sign">
        <span class="quiet">${t("live.groups.committed")}</span>${" "}
        <span class="number">${count(queue.commit_offset)}</span>
      </span>
      <${Bolt} kind="queue" facts=${{ group, topic, queueId: `${queueId}` }} name=${`${topic} Q${queueId}`} />
    </header>
    ${
      !dropped &&
      (member.orderly || queue.locked) &&
      html`<${Locks} group=${group} queue=${queue} id=${member.client_id} isElsewhere=${isElsewhere} />`
    }
    <${Messages} kind="consuming_tree" queue=${queue} isTrees=${isTrees} />
    <${Messages} kind="tree" queue=${queue} isTrees=${isTrees} />
    <p class="queue-times quiet">
      <${Ago} at=${queue.last_pull_ms} now=${now} label="live.internals.pulled" />
      <${Ago} at=${queue.last_consume_ms} now=${now} label="live.internals.consumed" />
    </p>
  </section>`;
}

const Ago = ({ at, now, label }) => at !== null && html`<span>${t(label, { time: span(now - at) })}</span>`;

// ---------------------------------------------------------------------------------------------------- locks

/** Somebody switched the broker's lock off, for the group or for all: it grants every queue to everybody. */
export const isLockOff = (group) =>
  Boolean(faults.value.broken.broker_lock_off || faults.value.broken.groups_off?.includes(group));

/** `state` as in the lab: held, free, off or expired. Off is red and dashed: what it stands for is not the case. */
function Pill({ letter, name, title, state: how, children }) {
  return html`<li class=${`order-lock is-${how}`}>
    <span class=${`pill is-${how}`} title=${title}>
      <span class="order-letter" aria-hidden="true">${letter}</span>
      <span class="pill-name">${name}</span>
      ${children}
    </span>
  </li>`;
}

/** The broker's lock as its holder sees it, and the locks inside the client where it reports them. */
function Locks({ group, queue, id, isElsewhere }) {
  return html`<ul class="order-locks is-large" aria-label=${t("lab.order.title")}>
    <${BrokerLock} group=${group} queue=${queue} id=${id} isElsewhere=${isElsewhere} />
    ${
      queue.consume_lock &&
      !isIdle(queue) &&
      html`
        <${LocalLock} letter="Q" kind="queue" lock=${queue.local_lock} />
        <${LocalLock} letter="P" kind="process" lock=${queue.consume_lock} />
        <${Pill}
          letter="↻"
          name=${t("lab.order.chain_name")}
          title=${t("lab.order.chain")}
          state=${queue.consuming ? "held" : "free"}
        >
          <span class="pill-state">${t(queue.consuming ? "live.internals.chain" : "lab.order.resting")}</span>
        </${Pill}>
      `
    }
  </ul>`;
}

function BrokerLock({ group, queue, id, isElsewhere }) {
  const whole = queue.lock_lease_ms ?? LOCK_MAX_LIVE_MS;
  const left = (queue.last_lock_ms ?? 0) + whole - brokerNowMs.value;
  const entry = state.value.locks[group]?.[`${queue.topic}@${queue.queue_id}`];
  const rival = !isElsewhere && entry && entry.client_id !== id ? nameOf(group, entry.client_id) : null;
  const [how, word] = isLockOff(group)
    ? ["off", t("lab.order.off")]
    : rival
      ? ["off", t("word.held_by", { id: rival })]
      : !queue.locked
        ? ["off", t("lab.order.not_locked")]
        : left < 0
          ? ["expired", t("word.expired")]
          : ["held", shortMs(Math.ceil(left / 1000) * 1000)];
  const meaning = how === "held" ? t("lab.order.left", { time: word }) : word;
  return html`<${Pill}
    letter="B"
    name=${t("lab.order.broker_name")}
    title=${`${t("lab.order.broker")}: ${meaning}`}
    state=${how}
  >
    <span class="pill-state number">${word}</span>
    ${how === "held" && html`<${Countdown} left=${left} whole=${whole} label=${meaning} />`}
  </${Pill}>`;
}

function LocalLock({ letter, kind, lock }) {
  const { owner = null, waiters: n = 0 } = lock ?? {};
  return html`<${Pill}
    letter=${letter}
    name=${t(`lab.order.${kind}_name`)}
    title=${`${t(`lab.order.${kind}`)}: ${owner ? t("lab.order.held", { owner, n }) : t("lab.order.free")}`}
    state=${owner ? "held" : "free"}
  >
    <span class="pill-state">${owner ?? t("lab.order.free")}</span>
    ${n > 0 && html`<span class="badge badge-warning">+${n}</span>`}
  </${Pill}>`;
}

// -------------------------------------------------------------------------------------------------- messages

/** What waits (`tree`), or what an orderly listener has (`consuming_tree`). */
function Messages({ kind, queue, isTrees }) {
  const isTaken = kind === "consuming_tree";
  const [n, first, last] = isTaken
    ? [queue.in_hand, queue.in_hand_first, queue.in_hand_last]
    : [queue.count, queue.first, queue.last];
  const tree = queue[kind];
  if (!n && !tree) return null;
  const open = ({ offset }) => openMessage(queue.topic, queue.queue_id, offset);
  const name = isTaken ? "consumingMsgOrderlyTreeMap" : "msgTreeMap";
  const nodes = tree ? layOut(tree) : [];
  if (isTrees && tree)
    return html`<${Tree} tree=${tree} name=${name} width=${TREE_WIDTH} onOpen=${open} />
      ${nodes.length < n && html`<p class="quiet">${t("live.internals.tree_cut", { shown: nodes.length, n })}</p>`}`;
  const { tone } = topicMark(queue.topic);
  const cells = cellsOf(nodes, n, first, last);
  const missing = n - cells.filter(({ offset }) => offset !== undefined).length;
  return html`<${Roving}
    class=${`held-cells ${isTaken ? "is-taken" : ""}`}
    role="group"
    data-tree=${name}
    aria-label=${t("live.internals.cells", { name, n, first, last })}
  >
    ${cells.map(({ offset, key }) =>
      offset === undefined
        ? html`<span key="gap" class="quiet number">… ${missing} …</span>`
        : html`<button
            key=${offset}
            type="button"
            class=${`cell tone-${tone}`}
            tabindex="-1"
            data-roving
            data-long=${offset > 999 || undefined}
            title=${`${name}: ${t("lab.tree.node", { offset, key: key || "–" })}`}
            onClick=${() => open({ offset })}
          >
            ${shortOffset(offset)}
          </button>`,
    )}
  </${Roving}>`;
}

/** The first messages and the last one; an offset is shown only where it is known to be there. */
function cellsOf(nodes, n, first, last) {
  const known =
    nodes.length === n
      ? nodes
      : last - first + 1 === n
        ? Array.from({ length: Math.min(n, MOST_CELLS) }, (_, index) => ({ offset: first + index }))
        : [{ offset: first }];
  if (n <= known.length && n <= MOST_CELLS) return known;
  return [...known.slice(0, MOST_CELLS - 2), {}, { offset: last, key: nodes.at(-1)?.key }];
}
