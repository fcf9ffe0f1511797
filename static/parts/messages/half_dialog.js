// @ts-check
// Deciding a half message by hand: what each action will cause, and its button. What is decided already can be decided
// "anyway", as a real broker does when END_TRANSACTION comes twice.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { COMMANDS, commandName, commandText } from "../../common/world/commands.js";
import { span } from "../../common/world/format.js";
import { command } from "../../common/world/session.js";
import { openHalf, view } from "../../common/world/view.js";
import { Dialog } from "../controls/dialog.js";
import { Anyway } from "./anyway.js";

export function HalfDialog() {
  const open = openHalf.value;
  const close = () => (openHalf.value = null);
  const title = open && t("lab.half.dialog_title", { name: open.message.key || open.message.id, broker: open.broker });
  return html`<${Dialog}
    isOpen=${open !== null}
    onClose=${close}
    id="half-dialog"
    kind="small-dialog"
    title=${title ?? ""}
  >
    ${open && html`<${Actions} key=${open.message.id} ...${open} close=${close} />`}
  </${Dialog}>`;
}

/** `message`: a row of the card. It is looked up again: a check or an END_TRANSACTION may have come since. */
function Actions({ broker, message: opened, close }) {
  const anyway = useSignal(false);
  const part = /** @type {Picture.Transactions | undefined} */ (view.value.nodes[broker]?.transactions);
  const newest = (rows) => rows?.findLast((row) => row.id === opened.id);
  const message = newest(part?.messages) ?? newest(part?.given_up) ?? opened;
  const isGivenUp = message.given_up_us !== undefined;
  const isDecided = !isGivenUp && message.decided_by !== null;
  const act = (kind) => {
    command(kind, broker, { message: message.id, ...(isDecided ? { anyway: true } : {}) });
    close();
  };
  const fact = (name, value) => html`<div><dt>${t(name)}</dt><dd>${value}</dd></div>`;
  return html`
    <dl class="half-facts">
      ${fact("live.half.id", html`<span class="mono">${message.id}</span>`)}
      ${fact("live.half.place", `${message.topic} Q${message.queue_id}`)}
      ${fact("word.producer_group", message.group)}
      ${fact("live.half.checks", t("lab.half.checks", { n: message.check_times, max: part?.check_max ?? "–" }))}
      ${fact("live.half.age", span(view.value.time_us - message.born_us))}
    </dl>
    ${isDecided && html`<${Anyway} anyway=${anyway} text=${t("lab.half.anyway", { op: message.decided_by })} />`}
    ${(isGivenUp ? ["resume-half"] : ["commit-half", "rollback-half"]).map(
      (kind) =>
        kind in COMMANDS &&
        html`<div class="half-action" key=${kind}>
          <p>${commandText(kind)}</p>
          <button
            type="button"
            class="button button-primary"
            data-action=${kind}
            disabled=${isDecided && !anyway.value}
            onClick=${() => act(kind)}
          >
            ${commandName(kind)}
          </button>
        </div>`,
    )}
  `;
}
