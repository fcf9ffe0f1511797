// @ts-check
// The fields of the forms of an operator; each is bound to a signal.

import { html } from "htm/preact";
import { Select } from "../../../parts/panel/select.js";

/** `isWide`: over the whole width of the form. */
export function Field({ label, children, isWide = false }) {
  return html`<label class=${`action-field ${isWide ? "is-wide" : ""}`}><span>${label}</span>${children}</label>`;
}

/** A field that is typed into: a text, or a number if the signal `value` has one. Other properties are the input's. */
export function TypedField({ label, isWide, value, children, ...rest }) {
  const isNumber = typeof value.peek() === "number";
  const read = ({ currentTarget: { value: typed } }) => (value.value = isNumber ? Number(typed) : typed);
  return html`<${Field} label=${label} isWide=${isWide}>
    <input type=${isNumber ? "number" : undefined} value=${value.value} onInput=${read} ...${rest} />${children}
  </${Field}>`;
}

export const ChoiceField = ({ label, value, ...rest }) =>
  html`<${Field} label=${label}>
    <${Select} value=${value.value} choose=${(chosen) => (value.value = chosen)} ...${rest} />
  </${Field}>`;
