// @ts-check
// Dead letters: which groups have some, what they are, and sending them again: one, those that are chosen, or all.
// There only once a group has given a message up.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { computed, effect, signal } from "@preact/signals";
import { count, dateTime } from "../../../common/format.js";
import { sendRequest } from "../../../common/transport.js";
import { t } from "../../../common/i18n.js";
import { groupOf, inspectedOffset, state } from "../../../common/cluster/view.js";
import { ResendDialog, ask, resendResult } from "./dead_letter_resend.js";
import { GroupMark } from "../../../parts/lane/marks.js";
import { tab } from "../../tabs.js";

const PAGE = 20;
const COLUMNS = [
  "word.offset",
  "word.key",
  "live.dead.col_topic",
  "word.retries",
  "live.dead.col_cause",
  "live.dead.col_dead_at",
  "word.body",
  "word.state",
  "word.action",
];
const NUMBERS = ["word.offset", "word.retries"];

/** group -> how many dead letters it had, in all queues; the same object while nothing changes. */
const ends = computed(() => {
  const found = Object.entries(state.value.topics).filter(([, topic]) => topic.kind === "dlq");
  return found
    .map(([name, topic]) => {
      const max = Object.values(topic.queues).reduce((sum, queue) => sum + queue.max, 0);
      return /** @type {[string, number]} */ ([groupOf(name), max]);
    })
    .filter(([, max]) => max > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
});
const endsKey = computed(() => ends.value.map(([name, max]) => `${name} ${max}`).join("\n"));

/** The group that is browsed, the number of the dead letter at which its page begins (null: the newest ones), and what
    came. */
const group = signal(/** @type {any} */ (null));
const start = signal(/** @type {any} */ (null));
const page = signal(/** @type {any} */ (null));
const problem = signal("");
/** Ids of the chosen ones. */
const chosen = signal(new Set());
/** Counts up when something was resent: the page is fetched again. */
const resends = signal(0);

effect(() => {
  const names = ends.value.map(([name]) => name);
  if (names.length > 0 && !names.includes(group.peek())) browse(names[0]);
});

effect(() => {
  const [name, from] = [group.value, start.value];
  void [endsKey.value, resends.value];
  if (name !== null && tab.value === "dead-letters") load(name, from);
});

function browse(name, from = null) {
  if (name !== group.peek()) chosen.value = new Set();
  group.value = name;
  start.value = from;
}

let newest = 0;
async function load(name, from) {
  const asked = ++newest;
  const query = new URLSearchParams({ count: String(PAGE), ...(from === null ? {} : { start: from }) });
  try {
    const response = await sendRequest(`/api/live/dead-letters/${encodeURIComponent(name)}?${query}`);
    const answer = await response.json();
    if (asked !== newest) return; // a slow answer must not replace a later one
    page.value = response.ok ? answer : null;
    problem.value = response.ok ? "" : answer.error;
  } catch (error) {
    if (asked === newest) problem.value = t("live.search.unreachable", { why: error.message });
  }
}

export function DeadLetters() {
  if (ends.value.length === 0) return null;
  return html`<section class="panel" id="dead-letters" tabindex="-1" aria-labelledby="dead-letters-title">
    <header class="panel-head">
      <h2 class="panel-title" id="dead-letters-title">${t("section.dead_letters")}</h2>
      <span class="quiet">${t("live.dead.hint")}</span>
    </header>
    <div class="group-details">
      <div class="dead-groups" role="group" aria-label=${t("live.dead.groups")}>
        ${ends.value.map(
          ([name, max]) =>
            html`<button
              type="button"
              key=${name}
              class="button dead-group"
              aria-pressed=${group.value === name}
              onClick=${() => browse(name)}
            >
              <${GroupMark} group=${name} size=${1.2} /> ${name} <span class="badge number">${count(max)}</span>
            </button>`,
        )}
      </div>
      <${Result} />${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
      ${page.value && page.value.group.group === group.value && html`<${Page} answer=${page.value} />`}
    </div>
    <${ResendDialog} onDone=${() => {
      chosen.value = new Set();
      resends.value += 1;
    }} />
  </section>`;
}

/** One line; the focus goes there when what had it is gone. */
function Result() {
  const line = useRef(/** @type {any} */ (null));
  useEffect(() => {
    if (resendResult.value) line.current?.focus();
  }, [resendResult.value]);
  return html`<p class="action-result" role="status" tabindex="-1" ref=${line}>${resendResult.value}</p>`;
}

function Page({ answer: { group: facts, start: first, messages } }) {
  const end = first + messages.length;
  const here = messages.filter((message) => chosen.value.has(message.id));
  const go = (from) => browse(facts.group, from);
  return html`
    <div class="dead-tools">
      <button
        type="button"
        class="button button-primary"
        aria-haspopup="dialog"
        disabled=${here.length === 0}
        onClick=${() => ask(facts.group, here)}
      >
        ${t("live.dead.resend_chosen", { n: here.length })}
      </button>
      <button type="button" class="button" aria-haspopup="dialog" onClick=${() => ask(facts.group, null, facts.count)}>
        ${t("live.dead.resend_all")}
      </button>
      <span class="dead-pager">
        <button
          type="button"
          class="button"
          disabled=${first <= facts.min}
          onClick=${() => go(Math.max(facts.min, first - PAGE))}
        >
          ‹ ${t("queue.older")}
        </button>
        <span class="number" role="status">
          ${t("live.dead.range", { from: first, to: Math.max(first, end - 1), n: facts.count })}
        </span>
        <button type="button" class="button" disabled=${end >= facts.max} onClick=${() => go(end)}>
          ${t("queue.newer")} ›
        </button>
      </span>
    </div>
    <div class="table-scroll" tabindex="0" role="group" aria-labelledby="dead-letters-title">
      <table class="dead-table">
        <caption class="sr-only">${t("section.dead_letters")}: ${facts.group}</caption>
        <thead>
          <tr>
            <th scope="col"><${ChooseAll} messages=${messages} /></th>
            ${COLUMNS.map(
              (column) =>
                html`<th scope="col" key=${column} class=${NUMBERS.includes(column) ? "number" : ""}>
                  ${t(column)}
                </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${messages.toReversed().map(
            (message) =>
              html`<${Row}
                key=${message.offset}
                group=${facts.group}
                message=${message}
                isChosen=${chosen.value.has(message.id)}
              />`,
          )}
        </tbody>
      </table>
    </div>
  `;
}

const choose = (messages, isOn) => {
  const next = new Set(chosen.peek());
  for (const message of messages) isOn ? next.add(message.id) : next.delete(message.id);
  chosen.value = next;
};

function ChooseAll({ messages }) {
  const open = messages.filter((message) => !message.resent);
  const isAll = open.length > 0 && open.every((message) => chosen.value.has(message.id));
  return html`<input
    type="checkbox"
    name="choose-all"
    aria-label=${t("live.dead.choose_all")}
    title=${t("live.dead.choose_all")}
    checked=${isAll}
    onChange=${(event) => choose(open, event.currentTarget.checked)}
  />`;
}

function Row({ group: name, message, isChosen }) {
  const key = message.keys[0] ?? message.unique_id ?? message.id;
  const cause = message.cause.replaceAll("-", "_");
  // Brokers use queue 0; only a dead letter in another says which.
  const place =
    message.queue_id === 0 ? count(message.queue_offset) : `Q${message.queue_id} ${count(message.queue_offset)}`;
  return html`<tr data-dead-letter=${place}>
    <td>
      <input
        type="checkbox"
        checked=${isChosen}
        aria-label=${t("live.dead.choose", { key })}
        onChange=${(event) => choose([message], event.currentTarget.checked)}
      />
    </td>
    <td class="number">${place}</td>
    <th scope="row">
      <button
        type="button"
        class="link-button mono ellipsis dead-key"
        title=${t("live.dead.open", { id: message.id })}
        onClick=${() => (inspectedOffset.value = message.offset)}
      >
        ${key}
      </button>
    </th>
    <td>${message.topic ?? "–"}</td>
    <td class="number">${count(message.retries)}</td>
    <td title=${t(`live.dead.cause_${cause}_hint`)}>${t(`live.dead.cause_${cause}`)}</td>
    <td class="dead-at">${dateTime(message.dead_ms)}</td>
    <td class="dead-body ellipsis" title=${message.body_preview}>
      ${message.body_preview || t("live.records.body_bytes", { n: message.body_bytes })}
    </td>
    <td>
      ${
        message.resent
          ? html`<button
            type="button"
            class="link-button dead-resent"
            onClick=${() => (inspectedOffset.value = message.resent.offset)}
          >
            ↻ ${t("lab.dead.resent", {
              topic: message.resent.topic,
              id: message.resent.queue_id,
              offset: message.resent.queue_offset,
            })}
          </button>`
          : t(message.resent_known ? "lab.dead.waits" : "live.dead.not_known")
      }
    </td>
    <td>
      <button
        type="button"
        class="button row-button"
        data-resend=${place}
        aria-haspopup="dialog"
        aria-label=${t("lab.dead.resend_of", { key })}
        onClick=${() => ask(name, [message])}
      >
        ${t("lab.dead.resend")}
      </button>
    </td>
  </tr>`;
}
