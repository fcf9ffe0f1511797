// @ts-check
// One of several, chosen from a list that opens.

import { html } from "htm/preact";

/**
 * Any other property is one of the element.
 *
 * @param {object} properties
 * @param {string | number} properties.value
 * @param {(value: string) => void} properties.choose
 * @param {(string | [value: string | number, text: string])[]} properties.options A text may be its own value.
 */
export const Select = ({ value, choose, options, ...rest }) =>
  html`<select value=${value} onChange=${(event) => choose(event.currentTarget.value)} ...${rest}>
    ${options.map((option) => {
      const [key, text] = typeof option === "string" ? [option, option] : option;
      return html`<option key=${key} value=${key}>${text}</option>`;
    })}
  </select>`;
