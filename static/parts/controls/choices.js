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
 * One of several, chosen in the signal `of`; its text follows it. `class`: of its row.
 *
 * @param {{ class: string, name: string, value: any, of: import("@preact/signals").Signal<any>, children?: any }}
 *   properties
 */
export const Radio = ({ class: kind, name, value, of, children }) =>
  html`<label class=${kind}>
    <input
      type="radio" name=${name} value=${value} checked=${of.value === value} onChange=${() => (of.value = value)}
    />
    ${children}
  </label>`;

/**
 * A box to tick, as a switch or with the looks of `class`. Any other property is one of the box.
 *
 * @param {object} properties
 * @param {string} [properties.class]
 * @param {any} properties.text
 * @param {string} [properties.hint]
 * @param {import("@preact/signals").Signal<boolean>} [properties.of] What is ticked; else `isOn` and `set` say so, or
 *   the form alone knows.
 * @param {boolean} [properties.isOn]
 * @param {(isOn: boolean) => void} [properties.set]
 * @param {any} [properties.children] What follows the text.
 */
export const Switch = ({
  class: kind = "switch",
  text,
  hint,
  of,
  isOn = of?.value,
  set = (next) => of && (of.value = next),
  children,
  ...rest
}) =>
  html`<label class=${kind} title=${hint}>
    <input
      type="checkbox"
      checked=${isOn}
      onChange=${(/** @type {FieldEvent} */ event) => set(event.currentTarget.checked)}
      ...${rest}
    />
    <span>${text}</span>${children}
  </label>`;

/** A field with its name before it. Any other property is one of the row.
    @param {{ label: string, children?: any, [property: string]: any }} properties */
export const FormRow = ({ label, children, ...rest }) =>
  html`<label class="form-row" ...${rest}><span>${label}</span>${children}</label>`;

/** A number that is typed. Any property is one of the element.
    @param {object} properties */
export const NumberInput = (properties) => html`<input class="input" type="number" ...${properties} />`;

/**
 * What is typed, kept in the signal `of`. Any other property is one of the element.
 *
 * @param {{ of: import("@preact/signals").Signal<string>, [property: string]: any }} properties
 */
export const TextInput = ({ of, ...rest }) =>
  html`<input
    value=${of.value}
    onInput=${(/** @type {FieldEvent} */ event) => (of.value = event.currentTarget.value)}
    ...${rest}
  />`;

/** Searches what a panel shows, by the text in the signal `of`.
    @param {{ of: import("@preact/signals").Signal<string>, label: string, [property: string]: any }} properties */
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
