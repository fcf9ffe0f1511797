// @ts-check
// One of several, chosen from a list that opens.

import { html } from "htm/preact";

/**
 * Any other property is one of the element.
 *
 * @param {object} properties
 * @param {string | number} [properties.value] Without one, the form alone knows what is chosen.
 * @param {(value: string) => void} [properties.choose]
 * @param {(string | number | [value: string | number, text: string])[]} properties.options A text may be its own value.
 */
export const Select = ({ value, choose, options, ...rest }) =>
  html`<select
    value=${value}
    onChange=${(/** @type {FieldEvent} */ event) => choose?.(event.currentTarget.value)}
    ...${rest}
  >
    ${options.map((option) => {
      const [key, text] = Array.isArray(option) ? option : [option, option];
      return html`<option key=${key} value=${key}>${text}</option>`;
    })}
  </select>`;
