// Sending dead letters again: a question that says who will get them, the requests, and what came of it.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal, signal } from "@preact/signals";
import { language, t } from "../../common/i18n.js";

/** { group, messages (null: all), count } in the dialog, or null. */
const asked = signal(null);
/** What the last resend came to. */
export const resendResult = signal("");

export const ask = (group, messages, count = messages?.length ?? 0) => (asked.value = { group, messages, count });

export function ResendDialog({ onDone }) {
  const dialog = useRef(null);
  const question = asked.value;
  const close = () => (asked.value = null);
  useEffect(() => {
    if (question && !dialog.current.open) dialog.current.showModal();
    if (!question && dialog.current.open) dialog.current.close();
  }, [question]);
  return html`<dialog class="deed-dialog" id="resend-dialog" ref=${dialog} aria-labelledby="resend-title" onClose=${close} onClick=${(event) => event.target === dialog.current && close()}>
    ${question && html`<${Question} ...${question} close=${close} onDone=${onDone} />`}</dialog>`;
}

function Question({ group, messages, count, close, onDone }) {
  const to = useSignal("group");
  const anyway = useSignal(false);
  const problem = useSignal("");
  const isSent = useSignal(false);
  const again = messages?.filter((message) => message.resent).length ?? 0;
  const topics = [...new Set((messages ?? []).map((message) => message.topic ?? "–"))].join(t("text.list_separator"));
  const submit = async (event) => {
    event.preventDefault();
    isSent.value = true;
    const { report, why } = await resend(group, messages, to.value, anyway.value);
    isSent.value = false;
    problem.value = why;
    if (report.sent > 0) onDone();
    if (why) return;
    close();
    resendResult.value = t("live.dead.done", { n: report.sent, already: report.already });
    onDone();
  };
  const title = messages === null ? t("live.dead.title_all", { n: count, group }) : messages.length === 1 ? t("live.dead.title_one", { name: messages[0].keys[0] ?? messages[0].id }) : t("live.dead.title_some", { n: messages.length, group });
  return html`<form class="deed-body" onSubmit=${submit}><h2 id="resend-title">${title}</h2>
    <fieldset class="dead-ways"><legend>${t("lab.dead.to")}</legend>${["group", "topic"].map((way) => html`<label class="dead-way" key=${way}><input type="radio" name="to" value=${way} checked=${to.value === way} onChange=${() => (to.value = way)} />
      <span><strong>${t(`lab.dead.to_${way}`, { group })}${way === "topic" && topics ? ` (${topics})` : ""}</strong> ${t(`lab.dead.to_${way}_text`, { group })}</span></label>`)}</fieldset>
    <p>${t("live.dead.what")}</p>
    ${again > 0 && html`<label class="form-row form-switch"><input type="checkbox" name="anyway" checked=${anyway.value} onChange=${(event) => (anyway.value = event.currentTarget.checked)} /><span>${t("live.dead.anyway", { n: again })}</span></label>`}
    ${messages === null && html`<p>${t("live.dead.all_leaves")}</p>`}
    ${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
    <div class="deed-end"><button type="button" class="button" onClick=${close}>${t("live.half.cancel")}</button>
      <button type="submit" class="button button-primary" disabled=${isSent.value}>${t("lab.dead.resend")}</button></div></form>`;
}

/** All of a group go in portions, as many as one request may send. `why`: empty when all that could be sent was. */
async function resend(group, messages, to, anyway) {
  const report = { sent: 0, already: 0 };
  const failures = [];
  let start = 0;
  try {
    while (start !== null) {
      const wish = messages === null ? { messages: "all", to, start } : { messages: messages.map((message) => message.id), to, anyway };
      const response = await fetch(`/api/live/dead-letters/${encodeURIComponent(group)}/resend`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(wish) });
      if (!response.ok) return { report, why: await refusal(response) };
      const answer = await response.json();
      report.sent += answer.resent.length;
      report.already += answer.already;
      for (const failed of answer.failed) failures.push(`${failed.id}: ${failed.text?.[language] ?? failed.error}`);
      start = answer.next;
    }
  } catch (error) {
    return { report, why: t("live.search.unreachable", { why: error.message }) };
  }
  const why = failures.length > 0 ? t("live.dead.failed", { n: failures.length, sent: report.sent, why: failures.slice(0, 5).join("\n") }) : "";
  return { report, why };
}

async function refusal(response) {
  // The gate before the application answers these in plain text: the token is missing, or another site asks.
  if (response.status === 401 || response.status === 403) return t(`live.half.not_allowed_${response.status}`);
  if (!response.headers.get("Content-Type")?.startsWith("application/json")) return t("live.half.failed", { status: response.status });
  return (await response.json()).error;
}
