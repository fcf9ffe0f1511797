// @ts-check
// The question before a half message is decided by hand, or one that was given up is checked again: what each action
// will cause. Both worlds ask it. A decided message can be decided "anyway", as a real broker does when END_TRANSACTION
// comes twice.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { ActionDialog, ActionForm, ActionWays, Anyway } from "./action.js";
import { actionsOf, currentOf, halfName } from "./half_facts.js";

/** @typedef {import("./half_messages.js").AnyHalf} AnyHalf */
/** @typedef {import("./half_facts.js").HalfAction} HalfAction */
/**
 * The message as it was when the dialog was opened, and the action that is chosen at first; null: none.
 *
 * @typedef {{ message: AnyHalf, action: HalfAction | null }} HalfOpened
 */
/**
 * What a page does to decide a half message.
 *
 * @typedef {object} HalfActionSource
 * @property {(action: HalfAction, message: AnyHalf, anyway: boolean) => Promise<{ why: string }>} act `why` it was not
 *   done; empty when it was.
 * @property {(done: string) => void} done Reports what became of it.
 * @property {(action: HalfAction, message: AnyHalf, anyway: boolean) => unknown} [command] Draws the command of a
 *   terminal that does the same.
 */
/**
 * @typedef {object} HalfQuestionProperties
 * @property {Picture.Transactions | undefined} part
 * @property {Picture.Clock} clock
 * @property {HalfActionSource} source
 * @property {() => void} onClose
 */

const ID = "half-dialog";

/** @param {HalfQuestionProperties & { open: HalfOpened | null }} properties */
export const HalfDialog = ({ open, ...properties }) =>
  html`<${ActionDialog} id=${ID} question=${open} onClose=${properties.onClose}>
    ${open && html`<${Question} key=${open.message.id} ...${open} ...${properties} />`}
  </${ActionDialog}>`;

/** @param {HalfQuestionProperties & HalfOpened} properties */
function Question({ message: opened, action: first, part, clock, source, onClose }) {
  const wanted = useSignal(first);
  const anyway = useSignal(false);
  const message = currentOf(part, opened);
  const actions = actionsOf(message);
  const action = wanted.value !== null && actions.includes(wanted.value) ? wanted.value : null;
  const op = "decided_by" in message ? message.decided_by : null;
  const values = {
    name: halfName(message),
    place: `${message.topic} Q${message.queue_id}`,
    group: message.group,
    max: part?.check_max ?? "–",
  };
  const word = (suffix = "") => t(`live.half.action_${action}${suffix}`, values);
  const isAnyway = op !== null && anyway.value;
  const act = async () => {
    const { why } = await source.act(/** @type {HalfAction} */ (action), message, isAnyway);
    return { why, done: word("_done") };
  };
  const fact = (name, value) => html`<div><dt>${t(name)}</dt><dd>${value}</dd></div>`;
  return html`<${ActionForm}
    id=${ID}
    title=${action ? word("_title") : t("lab.half.by_hand_of", values)}
    button=${action ? word() : t("lab.half.decide")}
    act=${act}
    isReady=${action !== null && (op === null || anyway.value)}
    onClose=${onClose}
    onDone=${source.done}
  >
    <dl class="action-facts">
      ${fact("live.half.id", html`<span class="mono">${message.id}</span>`)}
      ${fact("live.half.place", values.place)}
      ${fact("word.producer_group", message.group)}
      ${fact("live.half.checks", t("lab.half.checks", { n: message.check_times, max: values.max }))}
      ${fact("live.half.age", clock.span(Math.max(0, clock.now() - message.born_us)))}
    </dl>
    <${ActionWays}
      name="action"
      legend=${t("word.action")}
      ways=${actions.map((one) => ({
        value: one,
        title: t(`live.half.action_${one}`),
        text: t(`live.half.action_${one}_text`, values),
      }))}
      chosen=${wanted}
    />
    ${op !== null && html`<${Anyway} anyway=${anyway} text=${t("lab.half.anyway", { op })} />`}
    ${action && source.command?.(action, message, isAnyway)}
    ${!actions.includes("resume") && html`<p class="action-advice">${t("live.half.action_advice", values)}</p>`}
  </${ActionForm}>`;
}
