// What keeps a process queue in order: the broker's lock as a bar that runs out, the two local locks with who holds
// them and who waits, and the slice of the worker that is at it.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { shortMs } from "../format.js";
import { view } from "../view.js";
import { Bar } from "./node_card.js";

/** `queue` is the view's, of an orderly consumer. Reads the time, so it is drawn anew whenever that goes on. */
export function OrderLocks({ queue }) {
  const nowUs = view.value.time_us;
  // The queue of a retry topic is mostly empty: then its broker lock says enough.
  const isIdle = queue.topic.startsWith("%") && queue.message_count === 0 && !queue.local_lock.owner;
  return html`<ul class="order-locks" aria-label=${t("lab.order.title")}>
    <${BrokerLock}
      isLocked=${queue.locked}
      left=${queue.lock_lease_ms - (nowUs - queue.locked_us) / 1000}
      whole=${queue.lock_lease_ms}
    />
    ${
      !isIdle &&
      html`
        <${LocalLock} letter="Q" name=${t("lab.order.queue")} lock=${queue.local_lock} />
        <${LocalLock} letter="P" name=${t("lab.order.process")} lock=${queue.consume_lock} />
        <${Slice} queue=${queue} nowUs=${nowUs} />
      `
    }
  </ul>`;
}

function BrokerLock({ isLocked, left, whole }) {
  const isOld = isLocked && left < 0;
  const label = !isLocked
    ? t("lab.order.not_locked")
    : isOld
      ? t("lab.order.expired")
      : t("lab.order.left", { time: shortMs(left) });
  return html`<li
    class=${`order-lock ${isLocked && !isOld ? "is-held" : ""} ${isOld ? "is-expired" : ""}`}
    title=${`${t("lab.order.broker")}: ${label}`}
  >
    <${Letter} letter="B" name=${t("lab.order.broker")} />
    ${
      isLocked && !isOld
        ? html`
          <${Bar} left=${left} whole=${whole} kind="bar-lease" label=${label} />
          <span class="number">${shortMs(left)}</span>
        `
        : html`<span class="order-word">${label}</span>`
    }
  </li>`;
}

function LocalLock({ letter, name, lock }) {
  const waiting = lock.waiters.length;
  const label = lock.owner ? t("lab.order.held", { owner: lock.owner, n: waiting }) : t("lab.order.free");
  return html`<li
    class=${`order-lock ${lock.owner ? "is-held" : ""} ${lock.on ? "" : "is-off"}`}
    title=${`${name}: ${lock.on ? label : t("lab.order.off")}`}
  >
    <${Letter} letter=${letter} name=${name} />
    <span class="order-word">
      ${lock.on ? (lock.owner ? shortActor(lock.owner) : t("lab.order.free")) : t("lab.order.off")}
    </span>
    ${waiting > 0 && html`<span class="badge badge-warning">+${waiting}</span>`}
  </li>`;
}

function Slice({ queue, nowUs }) {
  if (queue.slice_us === null)
    return html`<li class="order-lock">
      <${Letter} letter="↻" name=${t("lab.order.chain")} />
      <span class="order-word">${t(queue.consuming ? "lab.order.consuming" : "lab.order.resting")}</span>
    </li>`;
  const spent = (nowUs - queue.slice_us) / 1000;
  const label = t("lab.order.slice", { time: shortMs(spent), whole: shortMs(queue.slice_ms) });
  return html`<li class="order-lock is-held" title=${label}>
    <${Letter} letter="↻" name=${t("lab.order.chain")} />
    <${Bar} left=${queue.slice_ms - spent} whole=${queue.slice_ms} label=${label} />
    <span class="number">${shortMs(spent)}</span>
  </li>`;
}

const Letter = ({ letter, name }) =>
  html`<span class="order-letter" aria-hidden="true">${letter}</span><span class="sr-only">${name}</span>`;

const shortActor = (actor) => actor.split("/").at(-1);
