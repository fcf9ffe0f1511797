// @ts-check
// The locks of ordered consumption: the broker's leases as rows, and the locks of one process queue at its consumer as
// pills. A world gives its clock and its source.

import { html } from "htm/preact";
import { t } from "../../../common/i18n.js";
import { Bar, TimeLeft } from "../../lane/bar.js";
import { leftUs } from "./lease.js";

/**
 * What else a world knows of a queue of `holder`: whether the broker's lock and the flag `consuming` are switched off,
 * and who else has the broker's lock.
 * @typedef {{ isLockOff: boolean, isFlagOff?: boolean, rival?: string | null }} Surroundings
 *
 * `ask`: of a process queue. `act`: properties that make an element the button of a thing; nothing can be done: none.
 * `isAccused`: whether a violation names that queue (`topic@queue id`) or the message with that key. `open`: a message
 * of a process queue was pressed.
 * @typedef {object} Source
 * @property {(queue: Picture.ProcessQueue, holder: string) => Surroundings} ask
 * @property {(kind: string, thing: object) => object} [act]
 * @property {(name: string | undefined) => boolean} [isAccused]
 * @property {(queue: any, holder: string, message: { offset: number, key?: string }, event: any) => void} open
 */

/** A lock by its name, its letter and its state: held, free, off or expired.
    @param {{ letter: string, name?: string, title: string, state: string, thing?: { name: string }, children?: any,
      act?: Source["act"] }} props */
export function Pill({ letter, name, title, state, thing, act, children }) {
  const contents = html`<span class="order-letter" aria-hidden="true">${letter}</span>
    ${name && html`<span class="pill-name">${name}</span>`} ${children}`;
  const kind = `pill is-${state}`;
  return act
    ? html`<button
        class=${kind}
        ...${act("lock", thing)}
        data-lock-switch=${thing?.name}
        title=${title}
        aria-label=${title}
      >
        ${contents}
      </button>`
    : html`<span class=${kind} title=${title}>${contents}</span>`;
}

const LEASE = "bar-lease";

// ------------------------------------------------------------------------------------------------ at the broker

/** @typedef {{ lock: Picture.Lock, clock: Picture.Clock }} Leased */

/** @param {Leased} props */
const leftOf = ({ lock, clock }) => leftUs(lock.since_us, lock.lease_ms, clock.now());

/** What is left of the lease, which the owner renews before it runs out. Reads the time.
    @param {Leased} props */
export const LeaseTime = ({ lock, clock }) =>
  html`<${TimeLeft}
    leftUs=${leftOf({ lock, clock })}
    wholeMs=${lock.lease_ms}
    clock=${clock}
    label="lock.left"
    kind=${LEASE}
  />`;

/** Reads the time.
    @param {Leased} props */
export const leaseWords = ({ lock, clock }) => t("lock.left", { time: clock.span(leftOf({ lock, clock })) });

/** While the lock is off its entries stay where they are: they are neither checked nor renewed. Reads the time.
    `owner`: in words. `mark` and `tools`: before and after it. `button`: properties, see `Source`.
    @param {{ group: string, lock: Picture.Lock, owner: any, clock: Picture.Clock, isOff?: boolean, mark: any,
      button?: object, tools?: any }} props */
export function LockRow({ group, lock, owner, clock, isOff = false, mark, button, tools }) {
  const contents = html`<span class="ellipsis">${lock.topic}</span> Q${lock.queue_id}
    <span aria-hidden="true">→</span> <strong class="lock-owner">${owner}</strong>`;
  const hint = t("word.held_by", { id: lock.client_id });
  const unchecked = isOff && t("lab.locks.unchecked_hint", { time: clock.span(leftOf({ lock, clock })) });
  const place = `${group} ${lock.topic}@${lock.queue_id}`;
  return html`<li class=${`lock-row ${isOff ? "is-unasked" : ""}`} data-lock=${place}>
    ${mark}
    ${
      button
        ? html`<button class="lock-queue" ...${button} title=${hint}>${contents}</button>`
        : html`<span class="lock-queue" title=${hint}>${contents}</span>`
    }
    ${
      isOff
        ? html`<span class="lock-unasked" title=${unchecked}>
            ${t("lab.locks.unchecked")}
          </span>`
        : html`<${LeaseTime} lock=${lock} clock=${clock} />`
    }
    ${tools}
  </li>`;
}

// ---------------------------------------------------------------------------------------------- at the consumer

/** The queue of a retry topic is mostly empty: then its broker lock says enough. */
export const isIdle = ({ topic, message_count: n }) => topic.startsWith("%") && !n;

/** Of an orderly consumer. Reads the time, so it is drawn again whenever time passes.
    @param {{ queue: Picture.ProcessQueue | Picture.WorldProcessQueue, holder: string, clock: Picture.Clock,
      source: Source, isLarge: boolean }} props */
export function OrderLocks({ queue, holder, clock, source, isLarge }) {
  const { act } = source;
  const known = source.ask(queue, holder);
  return html`<ul class=${`order-locks ${isLarge ? "is-large" : ""}`} aria-label=${t("lab.order.title")}>
    <${BrokerLock} queue=${queue} clock=${clock} known=${known} act=${act} />
    ${
      queue.consume_lock &&
      !(isIdle(queue) && !queue.local_lock?.owner) &&
      html`
        <${LocalLock} letter="Q" name="message-queue-lock" holder=${holder} lock=${queue.local_lock} act=${act} />
        <${LocalLock} letter="P" name="process-queue-lock" holder=${holder} lock=${queue.consume_lock} act=${act} />
        <${Chain} queue=${queue} holder=${holder} clock=${clock} isOff=${known.isFlagOff} act=${act} />
      `
    }
  </ul>`;
}

/** rocketmq.client.rebalance.lockMaxLiveTime: how long a client trusts its lock. Ours reports it. */
const LOCK_MAX_LIVE_MS = 30_000;

/** The broker's lock as its holder sees it. */
function BrokerLock({ queue, clock, known: { isLockOff, rival }, act }) {
  const whole = queue.lock_lease_ms ?? LOCK_MAX_LIVE_MS;
  const left = (queue.locked_us ?? 0) + whole * 1000 - clock.now();
  const [state, word] = isLockOff
    ? ["off", t("lab.order.off")]
    : rival
      ? ["off", t("word.held_by", { id: rival })]
      : !queue.locked
        ? ["free", t("lab.order.not_locked")]
        : left < 0
          ? ["expired", t("word.expired")]
          : ["held", clock.span(left)];
  const meaning = isLockOff ? t("lab.locks.off_short") : state === "held" ? t("lab.order.left", { time: word }) : word;
  return html`<li class=${`order-lock is-${state}`}>
    <${Pill}
      letter="B"
      name=${t("lab.order.broker_name")}
      title=${`${t("lab.order.broker")}: ${meaning}`}
      state=${state}
      thing=${{ name: "broker-lock", node: queue.broker }}
      act=${act}
    >
      <span class="pill-state number">${word}</span>
      ${state === "held" && html`<${Bar} left=${left} whole=${whole * 1000} label=${meaning} kind=${LEASE} />`}
    </${Pill}>
  </li>`;
}

const WORDS = { "message-queue-lock": "queue", "process-queue-lock": "process" };

function LocalLock({ letter, name, holder, lock, act }) {
  const { owner = null, waiter_count: n = 0, on = true } = lock ?? {}; // null: it was not asked for yet
  const state = on ? (owner ? "held" : "free") : "off";
  const meaning = !on ? t("lab.order.off_long") : owner ? t("lab.order.held", { owner, n }) : t("lab.order.free");
  return html`<li class=${`order-lock is-${state}`}>
    <${Pill}
      letter=${letter}
      name=${t(`lab.order.${WORDS[name]}_name`)}
      title=${`${t(`lab.order.${WORDS[name]}`)}: ${meaning}`}
      state=${state}
      thing=${{ name, node: holder }}
      act=${act}
    >
      <span class="pill-state">${!on ? t("lab.order.off") : owner ? shortActor(owner) : t("lab.order.free")}</span>
      ${n > 0 && html`<span class="badge badge-warning">+${n}</span>`}
    </${Pill}>
  </li>`;
}

/** The one chain of consume requests that a queue has while its flag `consuming` is on; a lab world knows since when a
    worker has been at it. */
function Chain({ queue, holder, clock, isOff, act }) {
  const isTimed = "slice_us" in queue;
  const isAtIt = isTimed ? queue.slice_us !== null : queue.consuming;
  const spent = isTimed && isAtIt ? clock.now() - queue.slice_us : null;
  const state = isOff ? "off" : isAtIt ? "held" : "free";
  const word =
    spent !== null
      ? clock.span(spent)
      : t(isAtIt ? "live.internals.chain" : queue.consuming ? "lab.order.consuming" : "lab.order.resting");
  const whole = queue.slice_ms * 1000;
  const label = spent === null ? word : t("lab.order.slice", { time: word, whole: clock.span(whole) });
  return html`<li class=${`order-lock is-${state}`}>
    <${Pill}
      letter="↻"
      name=${t("lab.order.chain_name")}
      title=${`${t("lab.order.chain")}: ${isOff ? t("lab.order.off_long") : label}`}
      state=${state}
      thing=${{ name: "consuming-flag", node: holder }}
      act=${act}
    >
      <span class="pill-state number">${isOff ? t("lab.order.off") : word}</span>
      ${spent !== null && !isOff && html`<${Bar} left=${whole - spent} whole=${whole} label=${label} />`}
    </${Pill}>
  </li>`;
}

/** "worker-1" of the task "C1/worker-1". */
export const shortActor = (actor) => actor.split("/").at(-1);
