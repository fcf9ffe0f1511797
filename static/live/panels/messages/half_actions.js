// @ts-check
// Deciding half messages of the live broker by hand: the buttons of a row, the requests, and the result.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { brokerClock } from "../../../common/cluster/clock.js";
import { t } from "../../../common/i18n.js";
import { post } from "../../../common/request.js";
import { Button } from "../../../parts/controls/button.js";
import { ActionResult } from "../../../parts/messages/action.js";
import { halfName } from "../../../parts/messages/half_facts.js";
import { HalfDialog } from "../../../parts/messages/half_question.js";
import { ActionCommand, commandOf } from "../operator/command_line.js";

const opened = signal(/** @type {import("../../../parts/messages/half_question.js").HalfOpened | null} */ (null));
/** What the last action came to. */
const result = signal("");

/** @type {import("../../../parts/messages/half_question.js").HalfActionSource} */
const source = {
  async act(action, { id }, anyway) {
    const { why = "" } = await post(`/api/live/transactions/${action}`, { message: id, ...(anyway ? { anyway } : {}) });
    return { why };
  },
  done: (text) => (result.value = text),
  command: (action, { id }, anyway) =>
    html`<${ActionCommand} text=${commandOf(`transactions ${action}`, anyway ? ["--anyway"] : [], [id])} />`,
};

/** A button that opens the question. */
export function ActionButton({ action, message }) {
  const word = t(`live.half.action_${action}`);
  return html`<${Button}
    class="button row-button" data-action=${action} aria-haspopup="dialog"
    onClick=${() => (opened.value = { action, message })}
    aria-label=${t("live.half.action_of", { action: word, name: halfName(message) })}
  >
    ${word}
  </${Button}>`;
}

export const HalfResult = () => html`<${ActionResult} text=${result} />`;

export const HalfActionDialog = ({ part }) =>
  html`<${HalfDialog}
    open=${opened.value}
    part=${part}
    clock=${brokerClock}
    source=${source}
    onClose=${() => (opened.value = null)}
  />`;
