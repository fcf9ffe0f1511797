// @ts-check
// The fields of forms.

import { html } from "htm/preact";

/** A field with its name before it. Any other property is one of the row. */
export const FormRow = ({ label, children, ...rest }) =>
  html`<label class="form-row" ...${rest}><span>${label}</span>${children}</label>`;

/** A number that is typed. Any property is one of the element. */
export const NumberInput = (properties) => html`<input class="input" type="number" ...${properties} />`;

/**
 * What is typed, kept in the signal `of`. Any other property is one of the element.
 *
 * @param {{ of: import("@preact/signals").Signal<string>, [property: string]: any }} properties
 */
export const TextInput = ({ of, ...rest }) =>
  html`<input value=${of.value} onInput=${(event) => (of.value = event.currentTarget.value)} ...${rest} />`;

/** Searches what a panel shows, by the text in the signal `of`. */
export const SearchInput = ({ of, label, ...rest }) =>
  html`<${TextInput} of=${of} type="search" placeholder=${label} aria-label=${label} ...${rest} />`;

/**
 * What a form does when it is sent: `act` gets its fields.
 *
 * @param {(fields: FormData) => unknown} act
 */
export const sending = (act) => (/** @type {any} */ event) => {
  event.preventDefault();
  return act(new FormData(event.currentTarget));
};
