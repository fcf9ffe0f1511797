// @ts-check
// What actions done by hand on the live page have in common: the question in its dialog, the request, and why it was
// refused.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { request } from "../../../common/request.js";

/** A dialog that is open while there is a question; a click next to it closes it. */
export function ActionDialog({ id, question, onClose, children }) {
  const dialog = useRef(/** @type {any} */ (null));
  useEffect(() => {
    if (question && !dialog.current.open) dialog.current.showModal();
    if (!question && dialog.current.open) dialog.current.close();
  }, [question]);
  return html`<dialog
    class="action-dialog"
    id=${id}
    ref=${dialog}
    aria-labelledby=${`${id}-title`}
    onClose=${onClose}
    onClick=${(event) => event.target === dialog.current && onClose()}
  >
    ${question && children}
  </dialog>`;
}

/** The question in the dialog `id`. `act` does the action and returns {why: it was not done, done: its report}; it is
 * not offered before the form `isReady`.
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
      <button type="button" class="button" onClick=${onClose}>${t("word.cancel")}</button>
      <button type="submit" class="button button-primary" disabled=${isSent.value || !isReady}>${button}</button>
    </div>
  </form>`;
}

export const post = (address, body) => request("POST", address, body);
