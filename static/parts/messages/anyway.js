// @ts-check
// "Anyway": an action that was carried out can be repeated, as at a real broker.

import { html } from "htm/preact";

/** `anyway` is a signal. */
export const Anyway = ({ anyway, text }) =>
  html`<label class="form-row form-switch">
    <input
      type="checkbox"
      name="anyway"
      checked=${anyway.value}
      onChange=${(event) => (anyway.value = event.currentTarget.checked)}
    />
    <span>${text}</span>
  </label>`;
