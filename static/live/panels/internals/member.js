// @ts-check
// A member of a group: which client it is, whether it reports its state, and its process queues.

import { html } from "htm/preact";
import { clientVersion, count, span } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { ClientSign, nameOf } from "../../client_name.js";
import { Bolt } from "../../faults/bolt.js";
import { LanguageBadge } from "../../../parts/lane/marks.js";
import { ProcessQueue } from "./process_queue.js";

/** `nowUs`: the broker's time of the answer. `holders`: who holds which queue. */
export function Member({ group, member, nowUs, holders, isOpen, isTrees }) {
  const { client_id: id, state, queues, untold } = member;
  const what = untold.map((name) => t(`live.internals.untold_${name}`)).join(t("text.list_separator"));
  const lines = [
    member.omitted_queues > 0 && t("word.more", { n: member.omitted_queues }),
    member.answered_us && queues.length === 0 && t("lab.consumer.no_queues"),
    !member.answered_us && state !== "asked" && t("live.internals.silent_long"),
    what && t("live.internals.untold", { what }),
  ];
  return html`<details class="node inside-member" data-member=${id} open=${isOpen}>
    <summary class="inside-head">
      <${ClientSign} id=${id} />
      <${LanguageBadge} language=${member.language} />
      <span class="ellipsis mono" title=${`${id}\n${member.address} · ${clientVersion(member.version)}`}>${id}</span>
      <${Answer} member=${member} nowUs=${nowUs} />
    </summary>
    <p class="inside-line quiet">
      ${factsOf(member, nowUs)}${" "}
      <${Bolt} kind="client" facts=${{ client: id, name: nameOf(id), isConsumer: true }} name=${nameOf(id)} />
    </p>
    ${member.idempotence && html`<${Guard} guard=${member.idempotence} />`}
    <div class="inside-queues">
    ${queues.map(
      (queue) =>
        html`<${ProcessQueue}
            key=${`${queue.topic}@${queue.broker}@${queue.queue_id}`}
            ...${{ group, queue, member, nowUs, holders, isTrees }}
          />`,
    )}
    </div>
    ${lines.filter(Boolean).map((words) => html`<p key=${words} class="inside-line quiet">${words}</p>`)}
  </details>`;
}

/** Counts of an idempotent listener that want somebody to look. */
const TROUBLE = ["store_errors", "unguarded", "late_finishes", "different_bodies", "unusable_keys"];

/** How the member sees to it that no work is done twice, and the result. */
function Guard({ guard }) {
  const { strategy, key, expiry_ms: expiry, counters } = guard;
  const shown = Object.entries(counters).filter(([name, n]) => n > 0 || name === "first");
  return html`<p class="inside-line inside-guard">
    ${t("live.internals.guard", { strategy, key, time: span(expiry) })}
    ${shown.map(
      ([name, n]) =>
        html` <span key=${name} class=${TROUBLE.includes(name) ? "badge badge-warning" : "badge"}>
            ${t(`lab.guard.word_${name}`)} ${count(n)}
          </span>`,
    )}
  </p>`;
}

function Answer({ member, nowUs }) {
  const { state, remark, answered_us: answered } = member;
  const words = t(`live.internals.state_${state}`, { why: remark });
  if (state === "told")
    return html`<span class="good-text" title=${words}>✓<span class="sr-only">${words}</span></span>`;
  if (state === "asked") return html`<span class="quiet">${words}</span>`;
  return html`<span class="badge badge-warning" title=${words}>
    ${words}${answered ? ` · ${t("live.internals.as_of", { time: span((nowUs - answered) / 1000) })}` : ""}
  </span>`;
}

/** What it does with its messages in a sentence. */
function factsOf(member, nowUs) {
  if (!member.answered_us) return "";
  const { orderly, threads, suspended, started_us: started, rates } = member;
  const { queues_in_reset: inReset, offsets_failure: failure } = member;
  const all = Object.values(rates);
  const sum = (name) => Math.round(10 * all.reduce((before, each) => before + (each[name] ?? 0), 0)) / 10;
  const facts = [
    suspended && t("live.internals.suspended"),
    inReset > 0 && t("live.internals.in_reset", { n: inReset }),
    failure && t("live.internals.offsets_failure", { why: failure }),
    orderly !== null && t(orderly ? "live.internals.orderly" : "live.internals.concurrent"),
    threads !== null && t("live.internals.threads", { n: threads }),
    started !== null && t("live.internals.up", { time: span((nowUs - started) / 1000) }),
    all.length > 0 && t("live.internals.rates", { ok: count(sum("ok_per_s")), failed: count(sum("failed_per_s")) }),
  ];
  return facts.filter(Boolean).join(" · ");
}
