// @ts-check
// What happened to the message of a record, as far as the broker knows: its copies in the order of time, and how far
// each group has come.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { count, dateTime, span } from "../../common/format.js";
import { sendRequest } from "../../common/transport.js";
import { t } from "../../common/i18n.js";
import { GroupMark, TopicMark } from "../../parts/lane/marks.js";
import { brokerClock } from "../../common/cluster/clock.js";
import { inspectedOffset } from "../../common/cluster/view.js";

const SIGNS = {
  produced: "▸",
  stored: "■",
  half: "½",
  "given-up": "Ø",
  delayed: "~",
  due: "□",
  dead: "†",
  resent: "↻",
};
const STATE_SIGNS = { waiting: "…", passed: "✓", filtered: "≠", delayed: "~", dead: "†", unread: "?" };
const word = (name) => name.replaceAll("-", "_");

/** `record`: the summary of any copy of the message. */
export function Trail({ record }) {
  const answer = useSignal(/** @type {any} */ ({}));
  const name = record.unique_id ?? record.offset_message_id;
  useEffect(() => {
    answer.value = {};
    const abort = new AbortController();
    sendRequest(`/api/messages/trail?${new URLSearchParams({ name })}`, { signal: abort.signal })
      .then(async (response) => {
        const found = await response.json();
        answer.value = response.ok ? { trail: found.messages[0] ?? null } : { problem: found.error };
      })
      .catch((error) => {
        if (error.name !== "AbortError")
          answer.value = { problem: t("live.search.unreachable", { why: error.message }) };
      });
    return () => abort.abort();
  }, [name]);
  const { trail, problem } = answer.value;
  if (trail === null) return null;
  return html`<section class="trail" aria-labelledby="trail-title">
    <h3 id="trail-title">${t("live.trail.title")}</h3>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${trail === undefined && !problem && html`<p class="quiet">${t("inspector.loading")}</p>`}
    ${
      trail &&
      html`<div class="trail-parts">
        <${Steps} trail=${trail} offset=${record.offset} /><${Groups} trail=${trail} />
      </div>`
    }
  </section>`;
}

function Steps({ trail, offset }) {
  return html`<ol class="trail-steps" aria-label=${t("live.trail.steps")}>
    ${
      trail.omitted_steps > 0 &&
      html`<li class="quiet">
        ${t("lab.life.omitted_marks", { n: trail.omitted_steps })}
      </li>`
    }
    ${trail.steps.map(
      (step, index) => html`<li
        key=${index}
        class=${`trail-step trail-${step.kind} ${step.offset === offset ? "is-here" : ""}`}
        data-step=${step.kind}
        aria-current=${step.offset === offset ? "step" : undefined}
      >
        <span class="number trail-time">${dateTime(step.at_ms, true)}</span>
        <span class="trail-sign" aria-hidden="true">${SIGNS[step.kind]}</span>
        <span>
          ${step.topic && html`<${TopicMark} topic=${step.topic} /> `}
          ${
            step.offset === undefined || step.offset === offset
              ? sentenceOf(step)
              : html`<button type="button" class="link-button" onClick=${() => (inspectedOffset.value = step.offset)}>
                ${sentenceOf(step)}
              </button>`
          }
        </span>
      </li>`,
    )}
  </ol>`;
}

function sentenceOf(step) {
  const values = {
    host: step.host,
    topic: step.topic,
    id: step.queue_id,
    offset: step.queue_offset,
    group: step.group,
    n: step.retry,
    level: step.level,
    time: step.until_ms ? span(step.until_ms - step.at_ms) : "–",
    dead: step.resends,
  };
  const ofGroup = step.group !== null && (step.kind === "delayed" || step.kind === "due");
  return t(`live.trail.${word(step.kind)}${ofGroup ? "_group" : ""}`, values);
}

function Groups({ trail }) {
  const groups = Object.entries(trail.groups);
  if (groups.length === 0) return html`<p class="quiet">${t("live.trail.no_group")}</p>`;
  return html`<ul class="trail-groups" aria-label=${t("live.trail.groups")}>
    ${groups.map(
      ([group, part]) =>
        html`<li
          key=${group}
          class=${`trail-group life-state-${part.state}`}
          data-group=${group}
          data-state=${part.state}
        >
          <span class="life-sign" aria-hidden="true">${STATE_SIGNS[part.state]}</span>
          <${GroupMark} group=${group} size=${1.1} />
          <span><strong>${group}</strong> <${State} part=${part} /></span>
        </li>`,
    )}
  </ul>`;
}

/** Counts down while the message waits. */
function State({ part }) {
  const left = part.until_ms === null ? null : Math.max(0, part.until_ms - brokerClock.now() / 1000);
  return html`
    ${t(`live.trail.state_${part.state}`, {
      n: count(part.behind ?? 0),
      time: left === null ? "–" : span(left),
      retry: part.retry,
      expression: part.expression ?? "",
    })}
  `;
}
