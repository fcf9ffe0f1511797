// @ts-check
// The search by topic and time: which span of time, which queue, and the pages of what is found, the newest first.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { count } from "../../../common/format.js";
import { request } from "../../../common/request.js";
import { t } from "../../../common/i18n.js";
import { brokerClock } from "../../../common/cluster/clock.js";
import { Button } from "../../../parts/controls/button.js";
import { Select } from "../../../parts/panel/select.js";

const PAGE = 50;
const MINUTES = ["5", "15", "60"];

/** Minutes until now, or "custom". */
const chosen = signal("15");

export function TimeFields() {
  const time = (/** @type {string} */ name) => html`<label class="field">
    <span>${t(`live.search.${name}`)}</span>
    <input class="input" name=${name} type="datetime-local" step="1" required />
  </label>`;
  const choose = (/** @type {string} */ span) => (chosen.value = span);
  const spans = [
    ...MINUTES.map((n) => [n, t("live.search.span_minutes", { n })]),
    ["custom", t("live.search.span_custom")],
  ];
  return html`
    <label class="field">
      <span>${t("field.queue_id")}</span>
      <input class="input time-queue" name="queue" type="number" min="0" placeholder=${t("live.search.all_queues")} />
    </label>
    <label class="field">
      <span>${t("live.search.span")}</span>
      <${Select} name="span" value=${chosen.value} choose=${choose} options=${spans} />
    </label>
    ${chosen.value === "custom" && html`${time("from")}${time("to")}`}
  `;
}

/**
 * What the form asks for; the last second of a span is part of it.
 *
 * @param {FormData} fields
 */
export function askedOf(fields) {
  const read = (/** @type {string} */ name) => String(fields.get(name) ?? "");
  const nowMs = Math.ceil(brokerClock.now() / 1000);
  const [from, to] =
    read("span") === "custom"
      ? [Date.parse(read("from")), Date.parse(read("to")) + 999]
      : [nowMs - 60_000 * Number(read("span")), nowMs + 1000];
  const query = { from: String(from), to: String(to), count: String(PAGE) };
  return { topic: read("topic"), query: read("queue") ? { ...query, queue: read("queue") } : query };
}

/**
 * @param {ReturnType<typeof askedOf>} asked
 * @param {(string[] | null)[]} places Where each page begins, down to the one that is asked for: what the page before
 *   it returned.
 */
export async function findByTime(asked, places = [null]) {
  const before = places[places.length - 1];
  const query = new URLSearchParams({ ...asked.query, ...(before && { before: before.join(",") }) });
  const { answer, why } = await request("GET", `/api/topics/${encodeURIComponent(asked.topic)}/messages?${query}`);
  if (!answer) return { state: "failed", why };
  return { state: "found", messages: answer.messages, page: { asked, places, answer } };
}

/** Which page it is, and the ways to the others. `show` takes the result that is to come. */
export function TimePages({ page: { asked, places, answer }, show }) {
  const first = PAGE * (places.length - 1) + 1;
  const last = first + answer.messages.length - 1;
  const turn = (/** @type {string} */ key, /** @type {any[] | null} */ to) =>
    html`<${Button} disabled=${!to} onClick=${() => show(findByTime(asked, to ?? []))}>${t(key)}</${Button}>`;
  return html`<p class="button-row search-hint time-pages">
    ${turn("queue.newer", places.length > 1 ? places.slice(0, -1) : null)}
    <span class="number" role="status">
      ${t("live.search.range", { from: count(first), to: count(last), n: count(answer.count) })}
    </span>
    ${turn("queue.older", answer.before && [...places, answer.before])}
    ${answer.omitted_queues > 0 && t("live.search.omitted_queues", { n: answer.omitted_queues })}
  </p>`;
}
