// @ts-check
// Deciding half messages by hand: a question that says what will happen, the request, and the result.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { ActionCommand, commandOf } from "../operator/command_line.js";
import { ActionDialog, ActionForm, post } from "./action.js";

/** { action, message, part } in the dialog, or null. */
const asked = signal(/** @type {any} */ (null));
/** What the last action came to, or null. */
const done = signal(/** @type {any} */ (null));

export const nameOf = (message) => message.key || message.id;

/** A button that opens the question. */
export function ActionButton({ action, message, part }) {
  return html`<button
    type="button"
    class="button row-button"
    data-action=${action}
    aria-haspopup="dialog"
    onClick=${() => (asked.value = { action, message, part })}
    aria-label=${t("live.half.action_of", { action: t(`live.half.action_${action}`), name: nameOf(message) })}
  >
    ${t(`live.half.action_${action}`)}
  </button>`;
}

/** One line; the focus goes there when the row that had it is decided. */
export function ActionResult() {
  const line = useRef(/** @type {any} */ (null));
  useEffect(() => {
    if (done.value) line.current?.focus();
  }, [done.value]);
  return html`<p class="action-result" role="status" tabindex="-1" ref=${line}>
    ${done.value && html`<span aria-hidden="true">✓ </span>${done.value}`}
  </p>`;
}

export function HalfActionDialog() {
  const question = asked.value;
  const close = () => (asked.value = null);
  return html`<${ActionDialog} id="action-dialog" question=${question} onClose=${close}>
    ${question && html`<${Question} key=${question.message.id} ...${question} close=${close} />`}
  </${ActionDialog}>`;
}

function Question({ action, message, part, close }) {
  const values = {
    name: nameOf(message),
    place: `${message.topic} Q${message.queue_id}`,
    group: message.group,
    max: part.check_max,
  };
  const act = async () => {
    const { why = "" } = await post(`/api/live/transactions/${action}`, { message: message.id });
    return { why, done: t(`live.half.action_${action}_done`, values) };
  };
  const fact = (name, value) => html`<div><dt>${t(name)}</dt><dd class="mono">${value}</dd></div>`;
  return html`<${ActionForm}
    id="action-dialog"
    title=${t(`live.half.action_${action}_title`, values)}
    button=${t(`live.half.action_${action}`)}
    act=${act}
    onClose=${close}
    onDone=${(text) => (done.value = text)}
  >
    <dl class="action-facts">
      ${fact("live.half.id", message.id)}
      ${fact("live.half.place", values.place)}
      ${fact("word.producer_group", message.group)}
      ${fact("live.half.checks", t("word.of", { at: message.check_times, of: part.check_max }))}
    </dl>
    <p>${t(`live.half.action_${action}_text`, values)}</p>
    <${ActionCommand} text=${commandOf(`transactions ${action}`, [], [message.id])} />
    ${action !== "resume" && html`<p class="action-advice">${t("live.half.action_advice", values)}</p>`}
  </${ActionForm}>`;
}
