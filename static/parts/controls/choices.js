// @ts-check
// Choices that show at once: one of a few, or on and off.

import { html } from "htm/preact";

/**
 * One of a few, all of them in sight.
 *
 * @param {object} properties
 * @param {string} properties.name
 * @param {string} properties.legend
 * @param {[value: string, text: string, hint?: string][]} properties.options
 * @param {string | null} properties.chosen
 * @param {(value: string) => void} properties.choose
 */
export const Segmented = ({ name, legend, options, chosen, choose }) =>
  html`<fieldset class="segmented">
    <legend class="sr-only">${legend}</legend>
    ${options.map(
      ([value, text, hint]) => html`<label key=${value} title=${hint}>
        <input type="radio" name=${name} value=${value} checked=${chosen === value} onChange=${() => choose(value)} />
        <span>${text}</span>
      </label>`,
    )}
  </fieldset>`;

/**
 * @param {object} properties
 * @param {string} [properties.id]
 * @param {string} properties.text
 * @param {string} [properties.hint]
 * @param {boolean} properties.isOn
 * @param {(isOn: boolean) => void} properties.set
 */
export const Switch = ({ id, text, hint, isOn, set }) =>
  html`<label class="switch" title=${hint}>
    <input type="checkbox" id=${id} checked=${isOn} onChange=${(event) => set(event.currentTarget.checked)} />
    <span>${text}</span>
  </label>`;
