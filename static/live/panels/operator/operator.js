// @ts-check
// The forms for what an operator does by hand, in one dialog, and the line that shows the result.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { ActionDialog } from "../../../parts/messages/action.js";
import { askedForm, told } from "../../../common/cluster/asked.js";
import { ToldLine } from "../../told_line.js";
import { ResetForm } from "./reset_form.js";
import { SendForm } from "./send_form.js";
import { TopicForm } from "./topic_form.js";

/** How long the result of a form is shown; while the pointer is on it, it stays. */
const TOLD_MS = 6_000;

/** Each passes what it has of the dialog to its `ActionForm`. */
const FORMS = { send: SendForm, topic: TopicForm, reset: ResetForm };

export function Operator() {
  const question = askedForm.value;
  const close = () => (askedForm.value = null);
  const tell = (text) => (told.value = text);
  const isKept = useSignal(false);
  useEffect(() => {
    if (!told.value || isKept.value) return undefined;
    const ending = setTimeout(() => tell(""), TOLD_MS);
    return () => clearTimeout(ending);
  }, [told.value, isKept.value]);
  const keep = { onPointerEnter: true, onFocusIn: true, onPointerLeave: false, onFocusOut: false };
  const keeping = Object.entries(keep).map(([name, value]) => [name, () => (isKept.value = value)]);
  const dialog = { id: "operator-dialog", onClose: close };
  return html`
    <${ActionDialog} ...${dialog} question=${question}>
      ${question && html`<${FORMS[question.form]} ...${question} ...${dialog} onDone=${tell} />`}
    </${ActionDialog}>
    <${ToldLine}
      role="status"
      text=${told}
      sign=${html`<span aria-hidden="true">✓ </span>`}
      ...${Object.fromEntries(keeping)}
    />
  `;
}
