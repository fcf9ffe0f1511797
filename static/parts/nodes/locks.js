// The locks of ordered consumption as pills, each the button that switches it off: the broker's table of locks, and the
// locks of one process queue at its consumer.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { GroupMark } from "../lane/marks.js";
import { acting } from "../actions/thing.js";
import { shortMs } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";
import { isFocus } from "../stage/folding.js";
import { compare, view } from "../../common/world/view.js";
import { Bar } from "./node_card.js";
import { Part, Rule } from "./part.js";

/** A lock by its name, its letter and its state. `thing`: for the popover. `state`: held, free, off or expired. */
function Pill({ letter, name, title, state, thing, children }) {
  return html`<button
    class=${`pill is-${state}`}
    ...${acting("lock", thing)}
    data-lock-switch=${thing.name}
    title=${title}
    aria-label=${title}
  >
    <span class="order-letter" aria-hidden="true">${letter}</span>
    ${name && html`<span class="pill-name">${name}</span>`}
    ${children}
  </button>`;
}

// ------------------------------------------------------------------------------------------------ at the broker

/** Whether the lock is on; `name` says which one where nothing else does. */
export function BrokerPill({ broker, isOff, name }) {
  const text = t(isOff ? "lab.locks.off_short" : "lab.locks.on");
  return html`<${Pill}
    letter="B"
    name=${name}
    title=${`${t("lab.order.broker")}: ${text}`}
    state=${isOff ? "off" : "held"}
    thing=${{ name: "broker-lock", node: broker }}
  >
    <span class="pill-state">${name ? t(isOff ? "lab.order.off" : "lab.order.on") : text}</span>
  </${Pill}>`;
}

export const BrokerLocks = memo(({ broker, locks, isOff }) => {
  if (locks.length === 0 && !isOff) return null;
  return html`<${Part}
    part="locks"
    name=${t("lab.order.broker_name")}
    summary=${html`<${BrokerPill} broker=${broker} isOff=${isOff} />`}
    keepsOpen=${isOff}
    tools=${html`<${Rule} node=${broker} part="locks" />`}
    class="broker-table"
  >
    <ul class="lock-rows">
      ${[...locks]
        .sort((a, b) => a.topic.startsWith("%") - b.topic.startsWith("%") || compare(queueOf(a), queueOf(b)))
        .map(
          (lock) =>
            html`<${LockRow} key=${`${lock.group} ${queueOf(lock)}`} broker=${broker} lock=${lock} isOff=${isOff} />`,
        )}
    </ul>
  </${Part}>`;
});

const queueOf = (lock) => `${lock.topic}@${lock.queue_id}`;

/** While the lock is off its entries stay where they are: they are neither checked nor renewed. */
const LockRow = memo(({ broker, lock, isOff }) => {
  const left = shortMs(Math.max(0, lock.lease_ms - lock.age_ms));
  const owner = ownerOf(lock.client_id);
  const thing = { name: "broker-lock", node: broker, holder: owner.node, queueId: lock.queue_id };
  return html`<li class=${`lock-row ${isOff ? "is-unasked" : ""}`} data-lock=${`${lock.group} ${queueOf(lock)}`}>
    <${GroupMark} group=${lock.group} size=${1.35} />
    <button class="lock-queue" ...${acting("lock", thing)} title=${t("word.held_by", { id: lock.client_id })}>
      <span class="ellipsis">${lock.topic}</span> Q${lock.queue_id} <span aria-hidden="true">→</span>
      <strong class="lock-owner">${owner.text}</strong>
    </button>
    ${
      isOff
        ? html`<span class="lock-unasked" title=${t("lab.locks.unchecked_hint", { time: left })}>
            ${t("lab.locks.unchecked")}
          </span>`
        : html`<${Bar}
              left=${lock.lease_ms - lock.age_ms}
              whole=${lock.lease_ms}
              kind="bar-lease"
              label=${t("lab.locks.left", { time: left })}
            />
            <span class="number">${left}</span>`
    }
  </li>`;
});

/** The node with the address in "10.0.0.4@1234#5", with a sign when its process is gone: its locks are not. */
function ownerOf(clientId = "") {
  const address = clientId.split("@")[0];
  const [name, node] = Object.entries(view.peek().nodes).find(([, each]) => each.ip === address) ?? [];
  if (!name) return { text: clientId };
  if (node.client_id === clientId) return { node: name, text: name };
  const gone = html`
    ${name}${" "}
    <span class="lock-gone" title=${t("lab.locks.gone")}>✕<span class="sr-only">${t("lab.locks.gone")}</span></span>
  `;
  return { text: gone };
}

// ---------------------------------------------------------------------------------------------- at the consumer

/** `queue` is the view's, of an orderly consumer. Reads the time, so it is drawn again whenever time passes. */
export function OrderLocks({ queue, holder }) {
  const nowUs = view.value.time_us;
  const isLarge = isFocus("order_locks");
  // The queue of a retry topic is mostly empty: then its broker lock says enough.
  const isIdle = queue.topic.startsWith("%") && queue.message_count === 0 && !queue.local_lock.owner;
  return html`<ul class=${`order-locks ${isLarge ? "is-large" : ""}`} aria-label=${t("lab.order.title")}>
    <${BrokerLock} queue=${queue} left=${queue.lock_lease_ms - (nowUs - queue.locked_us) / 1000} />
    ${
      !isIdle &&
      html`
        <${LocalLock} letter="Q" key="queue" name="message-queue-lock" holder=${holder} lock=${queue.local_lock} />
        <${LocalLock} letter="P" key="process" name="process-queue-lock" holder=${holder} lock=${queue.consume_lock} />
        <${Slice} queue=${queue} holder=${holder} nowUs=${nowUs} />
      `
    }
  </ul>`;
}

function BrokerLock({ queue, left }) {
  const isOff = view.value.nodes[queue.broker]?.switched_off?.includes("broker-lock");
  const isOld = queue.locked && left < 0;
  const [state, word] = isOff
    ? ["off", t("lab.locks.off_short")]
    : !queue.locked
      ? ["free", t("lab.order.not_locked")]
      : isOld
        ? ["expired", t("word.expired")]
        : ["held", shortMs(left)];
  const meaning = state === "held" ? t("lab.order.left", { time: word }) : word;
  return html`<li class=${`order-lock is-${state}`}>
    <${Pill}
      letter="B"
      name=${t("lab.order.broker_name")}
      title=${`${t("lab.order.broker")}: ${meaning}`}
      state=${state}
      thing=${{ name: "broker-lock", node: queue.broker }}
    >
      <span class="pill-state number">${isOff ? t("lab.order.off") : word}</span>
      ${state === "held" && html`<${Lease} left=${left} whole=${queue.lock_lease_ms} label=${meaning} />`}
    </${Pill}>
  </li>`;
}

const Lease = (facts) => html`<${Bar} ...${facts} kind="bar-lease" />`;

const WORDS = { "message-queue-lock": "queue", "process-queue-lock": "process" };

function LocalLock({ letter, name, holder, lock }) {
  const waiting = lock.waiters.length;
  const state = lock.on ? (lock.owner ? "held" : "free") : "off";
  const meaning = !lock.on
    ? t("lab.order.off_long")
    : lock.owner
      ? t("lab.order.held", { owner: lock.owner, n: waiting })
      : t("lab.order.free");
  return html`<li class=${`order-lock is-${state}`}>
    <${Pill}
      letter=${letter}
      name=${t(`lab.order.${WORDS[name]}_name`)}
      title=${`${t(`lab.order.${WORDS[name]}`)}: ${meaning}`}
      state=${state}
      thing=${{ name, node: holder }}
    >
      <span class="pill-state">
        ${!lock.on ? t("lab.order.off") : lock.owner ? shortActor(lock.owner) : t("lab.order.free")}
      </span>
      ${waiting > 0 && html`<span class="badge badge-warning">+${waiting}</span>`}
    </${Pill}>
  </li>`;
}

/** The one chain of consume requests that a queue has while its flag `consuming` is on. */
function Slice({ queue, holder, nowUs }) {
  const isOff = view.value.nodes[holder]?.switched_off?.includes("consuming-flag");
  const isAtIt = queue.slice_us !== null;
  const spent = isAtIt ? (nowUs - queue.slice_us) / 1000 : 0;
  const state = isOff ? "off" : isAtIt ? "held" : "free";
  const word = isAtIt ? shortMs(spent) : t(queue.consuming ? "lab.order.consuming" : "lab.order.resting");
  const label = isAtIt ? t("lab.order.slice", { time: word, whole: shortMs(queue.slice_ms) }) : word;
  return html`<li class=${`order-lock is-${state}`}>
    <${Pill}
      letter="↻"
      name=${t("lab.order.chain_name")}
      title=${`${t("lab.order.chain")}: ${isOff ? t("lab.order.off_long") : label}`}
      state=${state}
      thing=${{ name: "consuming-flag", node: holder }}
    >
      <span class="pill-state number">${isOff ? t("lab.order.off") : word}</span>
      ${isAtIt && !isOff && html`<${Bar} left=${queue.slice_ms - spent} whole=${queue.slice_ms} label=${label} />`}
    </${Pill}>
  </li>`;
}

const shortActor = (actor) => actor.split("/").at(-1);
