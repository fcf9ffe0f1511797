// @ts-check
// What actions by hand have in common: the question in its dialog, a choice, why it was refused, and the result.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { Button } from "../controls/button.js";
import { Radio, Switch } from "../controls/choices.js";
import { BareDialog } from "../controls/dialog.js";

/**
 * What became of an action: `why` it was not done, empty when it was; `done`: what to report then.
 *
 * @typedef {{ why: string, done: string }} ActionOutcome
 */

/** A dialog that is open while there is a question. */
export const ActionDialog = ({ id, question, onClose, children }) =>
  html`<${BareDialog} isOpen=${Boolean(question)} onClose=${onClose} id=${id} kind="action-dialog">
    ${question && children}
  </${BareDialog}>`;

/** The question in the dialog `id`. `act` does the action and returns its outcome; it is not offered before the form
 * `isReady`.
 */
export function ActionForm({ id, title, button, act, isReady = true, onClose, onDone, children }) {
  const problem = useSignal("");
  const isSent = useSignal(false);
  const submit = async (event) => {
    event.preventDefault();
    if (!isReady || isSent.peek()) return;
    isSent.value = true;
    const { why, done } = await act();
    isSent.value = false;
    problem.value = why;
    if (why) return;
    onClose();
    onDone(done);
  };
  return html`<form class="action-body" onSubmit=${submit}>
    <h2 id=${`${id}-title`}>${title}</h2>${children}
    ${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
    <div class="action-end">
      <${Button} onClick=${onClose}>${t("word.cancel")}</${Button}>
      <button type="submit" class="button button-primary" disabled=${isSent.value || !isReady}>${button}</button>
    </div>
  </form>`;
}

/** One of several ways to do it. `chosen`: a signal of the value of one of `ways`: {value, title, text}. */
export const ActionWays = ({ name, legend, ways, chosen }) =>
  html`<fieldset class="action-ways">
    <legend>${legend}</legend>
    ${ways.map(
      ({
        value,
        title,
        text,
      }) => html`<${Radio} key=${value} class="action-way" name=${name} value=${value} of=${chosen}>
        <span><strong>${title}</strong>${" "}${text}</span>
      </${Radio}>`,
    )}
  </fieldset>`;

/** What was carried out can be repeated, as at a real broker. `anyway`: a signal. */
export const Anyway = ({ anyway, text }) =>
  html`<${Switch} class="form-row form-switch" name="anyway" of=${anyway} text=${text} />`;

/** One line about what was done; the focus goes there, because what had it may be gone. `text`: a signal. */
export function ActionResult({ text }) {
  const line = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (text.value) line.current?.focus();
  }, [text.value]);
  return html`<p class="action-result" role="status" tabindex="-1" ref=${line}>
    ${text.value && html`<span aria-hidden="true">✓ </span>${text.value}`}
  </p>`;
}
