// @ts-check
// The question before dead letters are resent: who will get them. Both worlds ask it.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { ActionDialog, ActionForm, ActionWays, Anyway } from "./action.js";
import { nameOf, resendFacts } from "./dead_letter_facts.js";

/** @typedef {import("./dead_letter_facts.js").Resend} Resend */
/**
 * Dead letters of a group that a user wants to resend; `messages` null: all, `count` of them.
 *
 * @typedef {{ group: string, messages: Picture.DeadLetter[] | null, count: number }} ResendQuestion
 */
/**
 * What a page does to resend dead letters.
 *
 * @typedef {object} ResendSource
 * @property {(group: string, resend: Resend) => Promise<import("./action.js").ActionOutcome>} act
 * @property {(done: string) => void} done Reports what became of it.
 * @property {(group: string, resend: Resend) => unknown} [command] Draws the command of a terminal that does the same.
 */

/** @param {{ question: ResendQuestion | null, source: ResendSource, onClose: () => void }} properties */
export const ResendDialog = ({ question, source, onClose }) =>
  html`<${ActionDialog} id="resend-dialog" question=${question} onClose=${onClose}>
    ${question && html`<${Question} ...${question} source=${source} onClose=${onClose} />`}
  </${ActionDialog}>`;

/** @param {ResendQuestion & { source: ResendSource, onClose: () => void }} properties */
function Question({ group, messages, count, source, onClose }) {
  const to = useSignal(/** @type {"group" | "topic"} */ ("group"));
  const anyway = useSignal(false);
  const resend = { messages, to: to.value, anyway: anyway.value };
  const { again, topics, isReady } = resendFacts(resend);
  const names = topics.length > 0 ? ` (${topics.join(t("text.list_separator"))})` : "";
  return html`<${ActionForm}
    id="resend-dialog"
    title=${titleOf(group, messages, count)}
    button=${t("lab.dead.resend")}
    act=${() => source.act(group, resend)}
    isReady=${isReady}
    onClose=${onClose}
    onDone=${source.done}
  >
    <${ActionWays}
      name="to"
      legend=${t("lab.dead.to")}
      ways=${
        /** @type {const} */ (["group", "topic"]).map((way) => ({
          value: way,
          title: t(`lab.dead.to_${way}`, { group }) + (way === "topic" ? names : ""),
          text: t(`lab.dead.to_${way}_text`, { group }),
        }))
      }
      chosen=${to}
    />
    <p>${t("live.dead.what")}</p>
    ${again > 0 && html`<${Anyway} anyway=${anyway} text=${t("live.dead.anyway", { n: again })} />`}
    ${messages === null && html`<p>${t("live.dead.all_leaves")}</p>`}
    ${source.command?.(group, resend)}
  </${ActionForm}>`;
}

/**
 * @param {string} group
 * @param {Picture.DeadLetter[] | null} messages
 * @param {number} count
 */
function titleOf(group, messages, count) {
  if (messages === null) return t("live.dead.title_all", { n: count, group });
  if (messages.length === 1) return t("live.dead.title_one", { name: nameOf(messages[0]) });
  return t("live.dead.title_some", { n: messages.length, group });
}
