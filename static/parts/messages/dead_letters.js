// @ts-check
// The dead letters of a group on one broker of the lab, opened from its card.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { command, isRecording } from "../../common/world/session.js";
import { pointing } from "../../common/viewer/pointed.js";
import { openDeadLetters, openRecord, view } from "../../common/world/view.js";
import { worldClock } from "../../common/world/world_clock.js";
import { Button } from "../controls/button.js";
import { Dialog } from "../controls/dialog.js";
import { ResendDialog } from "./dead_letter_resend.js";
import { DeadLetterTable } from "./dead_letter_table.js";

/** Opens the dialog from a broker's card. */
export function DeadLettersButton({ broker, group }) {
  return html`<${Button}
    class="button row-button dead-letters-button" aria-haspopup="dialog" data-dead-letters=${group}
    onClick=${() => (openDeadLetters.value = { broker, group })}
    aria-label=${t("lab.dead.open_of", { group, broker })}
  >
    ${t("lab.dead.open")}
  </${Button}>`;
}

export function DeadLettersDialog() {
  const open = openDeadLetters.value;
  const question = useSignal(/** @type {import("./dead_letter_resend.js").ResendQuestion | null} */ (null));
  const title = open ? t("lab.dead.title", open) : "";
  return html`<${Dialog}
      isOpen=${open !== null}
      onClose=${() => (openDeadLetters.value = null)}
      id="dead-letters-dialog"
      kind="inspector dead-letters-dialog"
      title=${title}
    >
      ${open && html`<${Letters} key=${`${open.broker} ${open.group}`} ...${{ ...open, question, title }} />`}
    </${Dialog}>
    <${ResendDialog}
      question=${question.value}
      source=${{ act: (group, resend) => act(open?.broker, group, resend), done: () => {} }}
      onClose=${() => (question.value = null)}
    />`;
}

/** What comes of it is seen in the world; a refusal is reported as that of any command. */
async function act(broker, group, { messages, to, anyway }) {
  for (const { id } of messages)
    command("resend-dead-letter", broker, { group, message: id, to, ...(anyway ? { anyway } : {}) });
  return { why: "", done: "" };
}

function Letters({ broker, group, question, title }) {
  const part = /** @type {Picture.DeadLetterPage | undefined} */ (view.value.nodes[broker]?.dead_letters?.[group]);
  if (!part) return html`<p class="quiet">${t("lab.dead.none")}</p>`;
  /** @type {import("./dead_letter_table.js").DeadLetterSource} */
  const source = {
    open: (record) => (openRecord.value = { broker, record }),
    pointing,
    ask: isRecording() ? null : (messages) => (question.value = { group, messages, count: messages.length }),
  };
  return html`
    <p>${t("live.dead.hint")}</p>
    <${DeadLetterTable} ...${{ part, clock: worldClock, source, title }} />
    ${part.start > 0 && html`<p class="quiet">${t("lab.dead.older", { n: part.start })}</p>`}
  `;
}
