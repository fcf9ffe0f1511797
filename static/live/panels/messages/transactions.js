// @ts-check
// Half messages: what was sent in a transaction and is not decided yet, or was decided since the last check; and those
// that were given up. There only while a broker has had such messages.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { count, span } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { Bolt } from "../../faults/bolt.js";
import { brokerNowMs, inspectedOffset, state } from "../../../common/cluster/view.js";
import { ActionButton, ActionResult, HalfActionDialog, nameOf } from "./half_actions.js";
import { Countdown, TopicMark } from "../../../parts/lane/marks.js";

export function Transactions() {
  const found = useComputed(() => state.value.transactions);
  const part = found.value;
  if (!part) return null;
  const waiting = part.messages.filter((message) => message.decided_by === null).length;
  const fact = (key, value) =>
    html`<div class="fact" title=${t(`live.half.${key}_hint`)}>
      <dt>${t(`live.half.${key}`)}</dt><dd class="number">${value}</dd>
    </div>`;
  return html`<section class="panel" id="transactions" tabindex="-1" aria-labelledby="transactions-title">
    <header class="panel-head">
      <h2 class="panel-title" id="transactions-title">${t("word.half_messages")}</h2>
      <span class="quiet">${t("live.half.hint")}</span>
    </header>
    <div class="group-details">
      <dl class="facts">
        ${fact("waiting", count(waiting))}
        ${fact("half", `${count(part.half_offset)} / ${count(part.half_end)}`)}
        ${fact("op", `${count(part.op_offset)} / ${count(part.op_end)}`)}
        ${fact("asked", count(part.checks_sent))}
        ${fact("discarded", count(part.discarded))}
        <${NextRound} part=${part} />
      </dl>
      <${ActionResult} />
      ${
        part.messages.length === 0
          ? html`<p class="quiet">${t("live.half.none")}</p>`
          : html`<${HalfTable} part=${part} />`
      }
      ${part.given_up.length > 0 && html`<${GivenUp} part=${part} />`}
    </div>
    <${HalfActionDialog} />
  </section>`;
}

function NextRound({ part }) {
  const left = Math.max(0, part.next_round_ms - brokerNowMs.value);
  return html`<div class="fact" title=${t("live.half.round_hint")}>
    <dt>${t("live.half.round")}</dt>
    <dd class="timer half-round">
      <${Countdown}
        left=${left}
        whole=${part.check_interval_ms}
        label=${t("live.half.due_in", { seconds: Math.ceil(left / 1000) })}
      />
      <span class="number timer-text">${span(left)}</span>
    </dd>
  </div>`;
}

const COLUMNS = [
  "word.offset",
  "word.key",
  "live.half.place",
  "word.producer_group",
  "live.half.checks",
  "live.half.age",
  "word.state",
  "word.action",
];
const NUMBERS = ["word.offset", "live.half.checks", "live.half.age"];

function HalfTable({ part }) {
  return html`<${Table} title="transactions-title" caption=${t("word.half_messages")}>
    ${part.messages
      .toReversed()
      .map((message) => html`<${Row} key=${message.queue_offset} message=${message} part=${part} />`)}
  </${Table}>`;
}

/** Messages that nobody decided: TRANS_CHECK_MAX_TIME_TOPIC. */
function GivenUp({ part }) {
  const older = part.given_up_end - part.given_up.length;
  return html`<section class="given-up" data-part="given-up" aria-labelledby="given-up-title">
    <h3 id="given-up-title">
      ${t("live.half.given_up_title")}${" "}
      <span class="badge number">${count(part.given_up_end)}</span>${" "}
      <span class="quiet">
        ${t("live.half.given_up_hint")}
      </span>
    </h3>
    <${Table} title="given-up-title" caption=${t("live.half.given_up_title")}>
      ${part.given_up
        .toReversed()
        .map((message) => html`<${GivenUpRow} key=${message.queue_offset} message=${message} part=${part} />`)}
    </${Table}>
    ${older > 0 && html`<p class="quiet">${t("live.half.given_up_more", { n: older })}</p>`}
  </section>`;
}

function Table({ title, caption, children }) {
  return html`<div class="table-scroll half-scroll" tabindex="0" role="group" aria-labelledby=${title}>
    <table class="half-table">
      <caption class="sr-only">${caption}</caption>
      <thead>
        <tr>
          ${COLUMNS.map(
            (column) => html`<th scope="col" class=${NUMBERS.includes(column) ? "number" : ""}>${t(column)}</th>`,
          )}
        </tr>
      </thead>
      <tbody>${children}</tbody>
    </table>
  </div>`;
}

function Row({ message, part }) {
  const { queue_offset: queueOffset, decided_by: op } = message;
  return html`<tr data-half=${queueOffset}>
    <${Facts} message=${message} part=${part} />
    <td class="timer-cell">
      ${
        op === null
          ? html`<${Wait} message=${message} part=${part} />`
          : html`<span class="half-decided">✓ op ${count(op)}</span>`
      }
    </td>
    <td class="actions">
      ${
        op === null &&
        html`
          <${ActionButton} action="commit" message=${message} part=${part} />
          <${ActionButton} action="rollback" message=${message} part=${part} />
          <${Bolt} kind="half" facts=${{ id: message.id, name: nameOf(message) }} name=${nameOf(message)} />
        `
      }
    </td>
  </tr>`;
}

function GivenUpRow({ message, part }) {
  const { queue_offset: queueOffset, checked_again: again } = message;
  const since = span(Math.max(0, brokerNowMs.value - message.given_up_ms));
  return html`<tr data-given-up=${queueOffset}>
    <${Facts} message=${message} part=${part} />
    <td class="timer-cell">
      ${
        again === null
          ? t("live.half.given_up_since", { time: since })
          : html`<span class="quiet">${t("live.half.checked_again", { offset: count(again) })}</span>`
      }
    </td>
    <td class="actions">${again === null && html`<${ActionButton} action="resume" ...${{ message, part }} />`}</td>
  </tr>`;
}

/** The cells that rows of both tables begin with. */
function Facts({ message, part }) {
  const { queue_offset: queueOffset, offset, key, topic, queue_id: queueId, check_times: checks } = message;
  return html`
    <td class="number">
      <button
        type="button"
        class="link-button number"
        onClick=${() => (inspectedOffset.value = offset)}
        aria-label=${t("live.records.open", { offset })}
      >
        ${count(queueOffset)}
      </button>
    </td>
    <td class="mono">${key}</td>
    <td>
      <span class="topic-cell">
        <${TopicMark} topic=${topic} />
        <span class="ellipsis" title=${topic}>${topic}</span> <span class="number">Q${queueId}</span>
      </span>
    </td>
    <td>${message.group}</td>
    <td class=${`number ${checks > 0 ? "has-lag" : ""}`}>
      ${t("word.of", { at: checks, of: part.check_max })}
    </td>
    <td class="number">${span(Math.max(0, brokerNowMs.value - message.born_ms))}</td>
  `;
}

/** Too young to be asked about, or waiting for the next round. */
function Wait({ message, part }) {
  const young = message.ask_from_ms - brokerNowMs.value;
  const isYoung = young > 0;
  const left = Math.max(0, isYoung ? young : part.next_round_ms - brokerNowMs.value);
  const word = isYoung ? "young" : message.check_times >= part.check_max ? "given_up" : "due";
  const label = t(`live.half.${word}_in`, { seconds: Math.ceil(left / 1000) });
  return html`<span class="timer half-wait" title=${label}>
    <${Countdown} left=${left} whole=${isYoung ? part.time_out_ms : part.check_interval_ms} label=${label} />
    <span class="timer-text">${t(`live.half.${word}`)} ${span(left)}</span>
  </span>`;
}
