// Half messages: what was sent in a transaction and is not decided yet, or was decided since the last check. There
// only while a broker has had such messages.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { count, span } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { brokerNowMs, inspectedOffset, state } from "../view.js";
import { Countdown, TopicMark } from "./marks.js";

export function Transactions() {
  const found = useComputed(() => state.value.transactions);
  const part = found.value;
  if (!part) return null;
  const waiting = part.messages.filter((message) => message.decided_by === null).length;
  const fact = (key, value) => html`<div class="fact" title=${t(`live.half.${key}_hint`)}><dt>${t(`live.half.${key}`)}</dt><dd class="number">${value}</dd></div>`;
  return html`<section class="panel" id="transactions" tabindex="-1" aria-labelledby="transactions-title">
    <header class="panel-head"><h2 class="panel-title" id="transactions-title">${t("live.half.title")}</h2><span class="quiet">${t("live.half.hint")}</span></header>
    <div class="group-details"><dl class="facts">${fact("waiting", count(waiting))}${fact("half", `${count(part.half_offset)} / ${count(part.half_end)}`)}${fact("op", `${count(part.op_offset)} / ${count(part.op_end)}`)}
      ${fact("asked", count(part.checks_sent))}${fact("discarded", count(part.discarded))}<${NextRound} part=${part} /></dl>
      ${part.messages.length === 0 ? html`<p class="quiet">${t("live.half.none")}</p>` : html`<${HalfTable} part=${part} />`}</div></section>`;
}

function NextRound({ part }) {
  const left = Math.max(0, part.next_round_ms - brokerNowMs.value);
  return html`<div class="fact" title=${t("live.half.round_hint")}><dt>${t("live.half.round")}</dt><dd class="timer half-round"><${Countdown} left=${left} whole=${part.check_interval_ms} label=${t("live.half.round_in", { seconds: Math.ceil(left / 1000) })} /><span class="number timer-text">${span(left)}</span></dd></div>`;
}

const COLUMNS = ["offset", "key", "place", "group", "checks", "age", "state"];
const NUMBERS = ["offset", "checks", "age"];

function HalfTable({ part }) {
  return html`<div class="table-scroll half-scroll" tabindex="0" role="group" aria-labelledby="transactions-title"><table class="half-table"><caption class="sr-only">${t("live.half.title")}</caption>
    <thead><tr>${COLUMNS.map((column) => html`<th scope="col" class=${NUMBERS.includes(column) ? "number" : ""}>${t(`live.half.${column}`)}</th>`)}</tr></thead>
    <tbody>${part.messages.toReversed().map((message) => html`<${Row} key=${message.queue_offset} message=${message} part=${part} />`)}</tbody></table></div>`;
}

function Row({ message, part }) {
  const { queue_offset: queueOffset, offset, key, topic, queue_id: queueId, check_times: checks, decided_by: op } = message;
  return html`<tr data-half=${queueOffset}><td class="number"><button type="button" class="link-button number" onClick=${() => (inspectedOffset.value = offset)} aria-label=${t("live.records.open", { offset })}>${count(queueOffset)}</button></td>
    <td class="mono">${key}</td><td><span class="topic-cell"><${TopicMark} topic=${topic} /><span class="ellipsis" title=${topic}>${topic}</span> <span class="number">Q${queueId}</span></span></td>
    <td>${message.group}</td><td class=${`number ${checks > 0 ? "has-lag" : ""}`}>${t("live.half.checks_of", { n: checks, max: part.check_max })}</td>
    <td class="number">${span(Math.max(0, brokerNowMs.value - message.born_ms))}</td>
    <td class="timer-cell">${op === null ? html`<${Wait} message=${message} part=${part} />` : html`<span class="half-decided">✓ ${t("live.half.decided", { op: count(op) })}</span>`}</td></tr>`;
}

/** Too young to be asked about, or waiting for the next round. */
function Wait({ message, part }) {
  const young = message.ask_from_ms - brokerNowMs.value;
  const isYoung = young > 0;
  const left = Math.max(0, isYoung ? young : part.next_round_ms - brokerNowMs.value);
  const word = isYoung ? "young" : message.check_times >= part.check_max ? "given_up" : "due";
  const label = t(`live.half.${word}_in`, { seconds: Math.ceil(left / 1000) });
  return html`<span class="timer half-wait" title=${label}><${Countdown} left=${left} whole=${isYoung ? part.time_out_ms : part.check_interval_ms} label=${label} /><span class="timer-text">${t(`live.half.${word}`)} ${span(left)}</span></span>`;
}
