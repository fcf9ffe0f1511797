// Deciding half messages by hand: a question that says what will happen, the request, and what came of it.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { language, t } from "../../common/i18n.js";

/** { deed, message, part } in the dialog, or null. */
const asked = signal(null);
/** What the last deed came to, or null. */
const done = signal(null);

export const nameOf = (message) => message.key || message.id;

/** A button that opens the question. */
export function DeedButton({ deed, message, part }) {
  return html`<button type="button" class="button row-button" data-deed=${deed} aria-haspopup="dialog" onClick=${() => (asked.value = { deed, message, part })}
    aria-label=${t("live.half.deed_of", { deed: t(`live.half.deed_${deed}`), name: nameOf(message) })}>${t(`live.half.deed_${deed}`)}</button>`;
}

/** One line; the focus goes there when the row that had it is decided. */
export function DeedResult() {
  const line = useRef(null);
  useEffect(() => {
    if (done.value) line.current?.focus();
  }, [done.value]);
  return html`<p class="deed-result" role="status" tabindex="-1" ref=${line}>${done.value && html`<span aria-hidden="true">✓ </span>${done.value}`}</p>`;
}

export function DeedDialog() {
  const dialog = useRef(null);
  const question = asked.value;
  const close = () => (asked.value = null);
  useEffect(() => {
    if (question && !dialog.current.open) dialog.current.showModal();
    if (!question && dialog.current.open) dialog.current.close();
  }, [question]);
  return html`<dialog class="deed-dialog" id="deed-dialog" ref=${dialog} aria-labelledby="deed-title" onClose=${close} onClick=${(event) => event.target === dialog.current && close()}>
    ${question && html`<${Question} key=${question.message.id} ...${question} close=${close} />`}</dialog>`;
}

function Question({ deed, message, part, close }) {
  const problem = useRef(signal("")).current;
  const isSent = useRef(signal(false)).current;
  const values = { name: nameOf(message), place: `${message.topic} Q${message.queue_id}`, group: message.group, max: part.check_max };
  const submit = async (event) => {
    event.preventDefault();
    isSent.value = true;
    problem.value = await act(deed, message.id);
    isSent.value = false;
    if (problem.value) return;
    close();
    done.value = t(`live.half.deed_${deed}_done`, values);
  };
  const fact = (key, value) => html`<div><dt>${t(`live.half.${key}`)}</dt><dd class="mono">${value}</dd></div>`;
  return html`<form class="deed-body" onSubmit=${submit}><h2 id="deed-title">${t(`live.half.deed_${deed}_title`, values)}</h2>
    <dl class="deed-facts">${fact("id", message.id)}${fact("place", values.place)}${fact("group", message.group)}${fact("checks", t("live.half.checks_of", { n: message.check_times, max: part.check_max }))}</dl>
    <p>${t(`live.half.deed_${deed}_text`, values)}</p>${deed !== "resume" && html`<p class="deed-advice">${t("live.half.deed_advice", values)}</p>`}
    ${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
    <div class="deed-end"><button type="button" class="button" onClick=${close}>${t("live.half.cancel")}</button>
      <button type="submit" class="button button-primary" disabled=${isSent.value}>${t(`live.half.deed_${deed}`)}</button></div></form>`;
}

/** Why it was not done; empty when it was. */
async function act(deed, id) {
  try {
    const response = await fetch(`/api/live/transactions/${deed}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ message: id }) });
    if (response.ok) return "";
    // The gate before the application answers these in plain text: the token is missing, or another site asks.
    if (response.status === 401 || response.status === 403) return t(`live.half.not_allowed_${response.status}`);
    if (!response.headers.get("Content-Type")?.startsWith("application/json")) return t("live.half.failed", { status: response.status });
    const answer = await response.json();
    return answer.text?.[language] ?? answer.error;
  } catch (error) {
    return t("live.search.unreachable", { why: error.message });
  }
}
