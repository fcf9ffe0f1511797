// Deciding half messages by hand: a question that says what will happen, the request, and what came of it.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { DeedCommand, commandOf } from "../operator/command_line.js";
import { DeedDialog, DeedForm, post } from "./deed.js";

/** { deed, message, part } in the dialog, or null. */
const asked = signal(null);
/** What the last deed came to, or null. */
const done = signal(null);

export const nameOf = (message) => message.key || message.id;

/** A button that opens the question. */
export function DeedButton({ deed, message, part }) {
  return html`<button
    type="button"
    class="button row-button"
    data-deed=${deed}
    aria-haspopup="dialog"
    onClick=${() => (asked.value = { deed, message, part })}
    aria-label=${t("live.half.deed_of", { deed: t(`live.half.deed_${deed}`), name: nameOf(message) })}
  >
    ${t(`live.half.deed_${deed}`)}
  </button>`;
}

/** One line; the focus goes there when the row that had it is decided. */
export function DeedResult() {
  const line = useRef(null);
  useEffect(() => {
    if (done.value) line.current?.focus();
  }, [done.value]);
  return html`<p class="deed-result" role="status" tabindex="-1" ref=${line}>
    ${done.value && html`<span aria-hidden="true">✓ </span>${done.value}`}
  </p>`;
}

export function HalfDeedDialog() {
  const question = asked.value;
  const close = () => (asked.value = null);
  return html`<${DeedDialog} id="deed-dialog" question=${question} onClose=${close}>
    ${question && html`<${Question} key=${question.message.id} ...${question} close=${close} />`}
  </${DeedDialog}>`;
}

function Question({ deed, message, part, close }) {
  const values = {
    name: nameOf(message),
    place: `${message.topic} Q${message.queue_id}`,
    group: message.group,
    max: part.check_max,
  };
  const act = async () => {
    const { why = "" } = await post(`/api/live/transactions/${deed}`, { message: message.id });
    return { why, done: t(`live.half.deed_${deed}_done`, values) };
  };
  const fact = (name, value) => html`<div><dt>${t(name)}</dt><dd class="mono">${value}</dd></div>`;
  return html`<${DeedForm}
    id="deed-dialog"
    title=${t(`live.half.deed_${deed}_title`, values)}
    button=${t(`live.half.deed_${deed}`)}
    act=${act}
    onClose=${close}
    onDone=${(text) => (done.value = text)}
  >
    <dl class="deed-facts">
      ${fact("live.half.id", message.id)}
      ${fact("live.half.place", values.place)}
      ${fact("word.producer_group", message.group)}
      ${fact("live.half.checks", t("word.of", { at: message.check_times, of: part.check_max }))}
    </dl>
    <p>${t(`live.half.deed_${deed}_text`, values)}</p>
    <${DeedCommand} text=${commandOf(`transactions ${deed}`, [], [message.id])} />
    ${deed !== "resume" && html`<p class="deed-advice">${t("live.half.deed_advice", values)}</p>`}
  </${DeedForm}>`;
}
