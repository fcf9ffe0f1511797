// @ts-check
// Dead letters of the live broker: which groups have some, and those of one group by pages. One, those that are chosen,
// or all are sent again. There only once a group has given a message up.

import { html } from "htm/preact";
import { computed, effect, signal } from "@preact/signals";
import { brokerClock } from "../../../common/cluster/clock.js";
import { groupOf } from "../../../common/topics.js";
import { inspectedOffset } from "../../../common/cluster/selection.js";
import { state } from "../../../common/cluster/view.js";
import { count, dateTime } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { get } from "../../../common/request.js";
import { Button } from "../../../parts/controls/button.js";
import { GroupMark } from "../../../parts/lane/marks.js";
import { ActionResult } from "../../../parts/messages/action.js";
import { ResendDialog } from "../../../parts/messages/dead_letter_resend.js";
import { DeadLetterTable } from "../../../parts/messages/dead_letter_table.js";
import { Panel } from "../../../parts/panel/panel.js";
import { ActionCommand, commandOf } from "../operator/command_line.js";
import { tab } from "../../tabs.js";
import { idsOf, sendAgain } from "./resending.js";

const PAGE = 20;
/** They are kept for days. */
const clock = { ...brokerClock, at: (us) => dateTime(us) };

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
const page = signal(/** @type {Picture.DeadLetterPage | null} */ (null));
const problem = signal("");
/** Ids of the chosen ones. */
const chosen = signal(new Set());
/** Counts up when something was resent: the page is fetched again. */
const resends = signal(0);
const question = signal(
  /** @type {import("../../../parts/messages/dead_letter_resend.js").ResendQuestion | null} */ (null),
);
/** What the last resend came to. */
const result = signal("");

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
  const { answer = null, why = "" } = await get(`/api/live/dead-letters/${encodeURIComponent(name)}?${query}`);
  if (asked === newest) [page.value, problem.value] = [answer, why]; // a slow answer must not replace a later one
}

export function DeadLetters() {
  if (ends.value.length === 0) return null;
  return html`<${Panel} id="dead-letters" title=${t("section.dead_letters")} hint=${t("live.dead.hint")}>
    <div class="group-details">
      <div class="dead-groups" role="group" aria-label=${t("live.dead.groups")}>
        ${ends.value.map(
          ([name, max]) =>
            html`<${Button}
              key=${name} class="button dead-group" aria-pressed=${group.value === name} onClick=${() => browse(name)}
            >
              <${GroupMark} group=${name} size=${1.2} /> ${name} <span class="badge number">${count(max)}</span>
            </${Button}>`,
        )}
      </div>
      <${ActionResult} text=${result} />
      ${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
      ${page.value && page.value.group.group === group.value && html`<${Page} part=${page.value} />`}
    </div>
    <${ResendDialog} question=${question.value} source=${source} onClose=${() => (question.value = null)} />
  </${Panel}>`;
}

/** @param {{ part: Picture.DeadLetterPage }} properties */
function Page({ part }) {
  const { group: facts, start: first, messages } = part;
  const end = first + messages.length;
  const choice = { has: ({ id }) => chosen.value.has(id), choose };
  const here = messages.filter(choice.has);
  const ask = (letters, n = letters?.length ?? 0) =>
    (question.value = { group: facts.group, messages: letters, count: n });
  const go = (from) => browse(facts.group, from);
  return html`
    <div class="dead-tools">
      <${Button}
        class="button button-primary" aria-haspopup="dialog" disabled=${here.length === 0} onClick=${() => ask(here)}
      >
        ${t("live.dead.resend_chosen", { n: here.length })}
      </${Button}>
      <${Button} aria-haspopup="dialog" onClick=${() => ask(null, facts.count)}>${t("live.dead.resend_all")}</${Button}>
      <span class="dead-pager">
        <${Button} disabled=${first <= facts.min} onClick=${() => go(Math.max(facts.min, first - PAGE))}>
          ‹ ${t("queue.older")}
        </${Button}>
        <span class="number" role="status">
          ${t("live.dead.range", { from: first, to: Math.max(first, end - 1), n: facts.count })}
        </span>
        <${Button} disabled=${end >= facts.max} onClick=${() => go(end)}>${t("queue.newer")} ›</${Button}>
      </span>
    </div>
    <${DeadLetterTable}
      ...${{ part, clock, choice }}
      source=${{ open: ({ offset }) => (inspectedOffset.value = offset), pointing: () => ({}), ask }}
      title=${`${t("section.dead_letters")}: ${facts.group}`}
    />
  `;
}

function choose(messages, isOn) {
  const next = new Set(chosen.peek());
  for (const message of messages) isOn ? next.add(message.id) : next.delete(message.id);
  chosen.value = next;
}

function fetchAgain() {
  chosen.value = new Set();
  resends.value += 1;
}

/** @type {import("../../../parts/messages/dead_letter_resend.js").ResendSource} */
const source = {
  async act(name, resend) {
    const { report, why } = await sendAgain(name, resend);
    if (why && report.sent > 0) fetchAgain();
    return { why, done: t("live.dead.done", { n: report.sent, already: report.already }) };
  },
  done(text) {
    result.value = text;
    fetchAgain();
  },
  command(name, { messages, to, anyway }) {
    const which = messages === null ? ["--all"] : anyway ? ["--anyway"] : [];
    const names = messages === null ? [] : idsOf(messages);
    const text = commandOf("dead-letters resend", ["--to", to, ...which], [name, ...names]);
    return html`<${ActionCommand} text=${text} />`;
  },
};
