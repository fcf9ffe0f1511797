// @ts-check
// Sending dead letters again: a question that says who will get them, the requests, and the result.

import { html } from "htm/preact";
import { useSignal, signal } from "@preact/signals";
import { language, t } from "../../../common/i18n.js";
import { ActionCommand, commandOf } from "../operator/command_line.js";
import { ActionDialog, ActionForm, post } from "./action.js";

/** { group, messages (null: all), count } in the dialog, or null. */
const asked = signal(/** @type {any} */ (null));
/** What the last resend came to. */
export const resendResult = signal("");

export const ask = (group, messages, count = messages?.length ?? 0) => (asked.value = { group, messages, count });

export function ResendDialog({ onDone }) {
  const question = asked.value;
  const close = () => (asked.value = null);
  return html`<${ActionDialog} id="resend-dialog" question=${question} onClose=${close}>
    ${question && html`<${Question} ...${question} close=${close} onDone=${onDone} />`}
  </${ActionDialog}>`;
}

function Question({ group, messages, count, close, onDone }) {
  const to = useSignal("group");
  const anyway = useSignal(false);
  const again = messages?.filter((message) => message.resent).length ?? 0;
  const topics = [...new Set((messages ?? []).map((message) => message.topic ?? "–"))].join(t("text.list_separator"));
  const act = async () => {
    const { report, why } = await resend(group, messages, to.value, anyway.value);
    if (why && report.sent > 0) onDone();
    return { why, done: t("live.dead.done", { n: report.sent, already: report.already }) };
  };
  const tell = (text) => {
    resendResult.value = text;
    onDone();
  };
  const names = messages === null ? [] : messages.map((message) => message.id);
  const options = ["--to", to.value, ...(messages === null ? ["--all"] : anyway.value ? ["--anyway"] : [])];
  const command = commandOf("dead-letters resend", options, [group, ...names]);
  const title =
    messages === null
      ? t("live.dead.title_all", { n: count, group })
      : messages.length === 1
        ? t("live.dead.title_one", { name: messages[0].keys[0] ?? messages[0].id })
        : t("live.dead.title_some", { n: messages.length, group });
  return html`<${ActionForm}
    id="resend-dialog"
    title=${title}
    button=${t("lab.dead.resend")}
    act=${act}
    onClose=${close}
    onDone=${tell}
  >
    <fieldset class="dead-ways">
      <legend>${t("lab.dead.to")}</legend>
      ${["group", "topic"].map(
        (way) => html`<label class="dead-way" key=${way}>
          <input type="radio" name="to" value=${way} checked=${to.value === way} onChange=${() => (to.value = way)} />
          <span>
            <strong>
              ${t(`lab.dead.to_${way}`, { group })}
              ${way === "topic" && topics ? ` (${topics})` : ""}
            </strong>${" "}
            ${t(`lab.dead.to_${way}_text`, { group })}
          </span>
        </label>`,
      )}
    </fieldset>
    <p>${t("live.dead.what")}</p>
    ${
      again > 0 &&
      html`<label class="form-row form-switch">
        <input
          type="checkbox"
          name="anyway"
          checked=${anyway.value}
          onChange=${(event) => (anyway.value = event.currentTarget.checked)}
        />
        <span>${t("live.dead.anyway", { n: again })}</span>
      </label>`
    }
    ${messages === null && html`<p>${t("live.dead.all_leaves")}</p>`}
    <${ActionCommand} text=${command} />
  </${ActionForm}>`;
}

/** All of a group go in portions, as many as one request may send. `why`: empty when all that could be sent was. */
async function resend(group, messages, to, anyway) {
  const report = { sent: 0, already: 0 };
  const failures = [];
  for (let start = 0; start !== null;) {
    const request =
      messages === null
        ? { messages: "all", to, start }
        : { messages: messages.map((message) => message.id), to, anyway };
    const { answer, why: refusal } = await post(`/api/live/dead-letters/${encodeURIComponent(group)}/resend`, request);
    if (refusal) return { report, why: refusal };
    report.sent += answer.resent.length;
    report.already += answer.already;
    for (const failed of answer.failed) failures.push(`${failed.id}: ${failed.text?.[language] ?? failed.error}`);
    start = answer.next;
  }
  const why =
    failures.length > 0
      ? t("live.dead.failed", { n: failures.length, sent: report.sent, why: failures.slice(0, 5).join("\n") })
      : "";
  return { report, why };
}
