// @ts-check
// What the broker knows of a group, on one glance: its table of locks with the leases running down, half messages that
// nobody has decided, what will be retried and how often it was, dead letters.

import { html } from "htm/preact";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { Button } from "../../../parts/controls/button.js";
import { Checks, nextCheck, undecided } from "../../../parts/messages/half_messages.js";
import { LockRow, Pill } from "../../../parts/nodes/queue/locks.js";
import { keepsRoom } from "../../../parts/nodes/room.js";
import { ClientSign } from "../../client_name.js";
import { Bolt } from "../../faults/bolt.js";
import { OpenRecord } from "../../inspector/open_record.js";
import { goTo } from "../../tabs.js";
import { brokerClock } from "../../../common/cluster/clock.js";
import { compare } from "../../../common/cluster/lists.js";
import { state } from "../../../common/cluster/view.js";
import { stored } from "../../../common/topics.js";
import { TimeLeft } from "../../../parts/lane/bar.js";
import { TopicMark } from "../../../parts/lane/marks.js";
import { isLockOff } from "./process_queue.js";

/** Rows of a part; the rest is counted. */
const MOST_ROWS = 6;

const NOTHING = {};

export function AtBroker({ group, told }) {
  const name = state.value.cluster.broker_name ?? t("lab.role.broker");
  return html`<article class="node inside-broker" aria-label=${t("live.internals.at_broker")}>
    <p class="inside-head">
      <span class="role-sign role-broker" aria-hidden="true">B</span>
      <strong>${name}</strong>
      <${Bolt} kind="broker" facts=${NOTHING} name=${name} />
    </p>
    <${Locks} group=${group} told=${told} />
    <${HalfMessages} />
    <${Retries} told=${told} />
    <${DeadLetters} group=${group} />
  </article>`;
}

function Part({ part, name, rows, none, total = rows.length, children }) {
  return html`<div class="part is-open" role="group" data-part=${part} aria-label=${name} ref=${keepsRoom}>
    <div class="part-head">
      <h3>${name}</h3>
      <span class=${`number ${total > 0 ? "" : "quiet"}`}>${total > 0 ? count(total) : none}</span>
    </div>
    <ul class="inside-rows">${rows.slice(0, MOST_ROWS)}</ul>
    ${children}
    ${rows.length > MOST_ROWS && html`<p class="quiet">${t("word.more", { n: rows.length - MOST_ROWS })}</p>`}
  </div>`;
}

/** What is left until `atUs` of `wholeMs`, as a bar and in words. */
function Left({ atUs, wholeMs, label }) {
  const left = Math.max(0, atUs - brokerClock.now());
  return html`<${TimeLeft} leftUs=${left} wholeMs=${wholeMs} clock=${brokerClock} label=${label} kind="bar-lease" />`;
}

function Locks({ group, told }) {
  const locks = state.value.locks[group] ?? {};
  const rows = Object.keys(locks)
    .sort(compare)
    .map((place) => {
      const lock = locks[place];
      const { topic, queue_id: queueId, client_id: id } = lock;
      const facts = { group, topic, queueId: `${queueId}` };
      const isGone = told?.members.every((member) => member.client_id !== id);
      const owner = html`<${ClientSign} id=${id} />
        ${isGone && html`${" "}<span class="problem-text">✕ ${t("live.internals.owner_gone")}</span>`}${" "}
        <span class="quiet mono">${id}</span>`;
      return html`<${LockRow}
        key=${place}
        group=${group}
        lock=${lock}
        owner=${owner}
        clock=${brokerClock}
        mark=${html`<${TopicMark} topic=${topic} />`}
        tools=${html`<${Bolt} kind="queue" facts=${facts} name=${`${topic} Q${queueId}`} />`}
      />`;
    });
  const none = t("live.internals.no_locks");
  return html`<${Part} part="locks" name=${t("lab.order.broker_name")} rows=${rows} none=${none}>
    ${
      isLockOff(group) &&
      html`<p><${Pill} letter="B" title=${t("lab.locks.off_short")} state="off">
          <span class="pill-state">${t("lab.locks.off_short")}</span>
        </${Pill}></p>`
    }
  </${Part}>`;
}

/** Of all groups: a half message belongs to its producer's. */
function HalfMessages() {
  const part = state.value.transactions;
  const rows = (part ? undecided(part) : []).map(
    (message) => html`<${HalfMessage} key=${message.queue_offset} part=${part} message=${message} />`,
  );
  return html`<${Part} part="half" name=${t("word.half_messages")} rows=${rows} none=${t("live.internals.no_half")} />`;
}

/** @type {(props: { part: Picture.Transactions, message: Picture.HalfMessage }) => any} */
function HalfMessage({ part, message }) {
  const { id, queue_offset: queueOffset, offset, key, topic, check_times: n } = message;
  const { isYoung, atUs, wholeMs } = nextCheck(message, part, brokerClock);
  return html`<li class="inside-row" data-half=${queueOffset}>
      <span class="ellipsis">
        <${OpenRecord} offset=${offset} kind="mono">${key || `#${queueOffset}`}<//>${" "}
        <span aria-hidden="true">→</span> <${TopicMark} topic=${topic} />${" "}
        <${Checks} n=${n} max=${part.check_max} />
      </span>
      <${Left} atUs=${atUs} wholeMs=${wholeMs} label=${isYoung ? "lab.half.young" : "lab.half.asked_in"} />
      <${Bolt} kind="half" facts=${{ id, name: key || id }} name=${key || id} />
    </li>`;
}

function Retries({ told }) {
  const retries = told?.retries ?? [];
  const rows = retries.map(
    ({ key, topic, offset, reconsume_times: n, due_us }) => html`<li key=${offset} class="inside-row" data-retry=${key}>
      <span class="ellipsis">
        <${TopicMark} topic=${topic} /> <${OpenRecord} offset=${offset} kind="mono">${key || `#${offset}`}<//>${" "}
        <span class="badge badge-warning number" title=${t("live.internals.given_back", { n })}>↻${n}</span>
      </span>
      ${
        due_us === null
          ? html`<span class="quiet inside-wide">${t("live.internals.can_be_pulled")}</span>`
          : html`<${Left} atUs=${due_us} wholeMs=${wholeDelay(n)} label="live.internals.again_in" />`
      }
    </li>`,
  );
  return html`<${Part}
    part="retries"
    name=${t("live.internals.retries")}
    rows=${rows}
    none=${told === null ? "…" : t("live.internals.no_retries")}
  >
    ${told?.are_all_retries === false && html`<p class="quiet">${t("live.internals.more_retries")}</p>`}
  </${Part}>`;
}

/** A retry waits at level 3 + how often it was given back before. */
const wholeDelay = (n) => state.value.delay_levels?.delays_ms?.[n + 1] ?? 10_000;

function DeadLetters({ group }) {
  const total = stored(state.value.topics[`%DLQ%${group}`]?.queues ?? {});
  return html`<${Part}
    part="dead"
    name=${t("live.internals.dead_of", { group })}
    rows=${[]}
    total=${total}
    none=${t("word.none")}
  >
    ${
      total > 0 &&
      html`<${Button} class="link-button" onClick=${() => goTo("dead-letters")}>
        ${t("live.internals.see_dead")}
      </${Button}>`
    }
  </${Part}>`;
}
