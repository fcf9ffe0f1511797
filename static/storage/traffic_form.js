// @ts-check
// The traffic that goes to both stores: what a user chooses, within the server's bounds.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { t } from "../common/i18n.js";
import { Select } from "../parts/panel/select.js";
import { isBusy, knownStores, load, refusal, TRAFFIC } from "./laboratory.js";

export function TrafficForm() {
  const typed = useSignal(/** @type {Record<string, string>} */ ({}));
  const { traffic, bounds, codecs } = knownStores();
  /** @type {Record<string, any>} */
  const values = { ...traffic, ...typed.value };
  /** @type {(name: string) => (value: string) => void} */
  const change = (name) => (value) => (typed.value = { ...typed.peek(), [name]: value });
  /** @param {SubmitEvent} event */
  const send = async (event) => {
    event.preventDefault();
    await load(values);
    if (!refusal.value) typed.value = {};
  };
  /** @param {string} name */
  const number = (name) => html`<input
    class="input number"
    type="number"
    inputmode="numeric"
    name=${name}
    required
    min=${bounds[name][0]}
    max=${bounds[name][1]}
    value=${values[name]}
    onInput=${(/** @type {FieldEvent} */ event) => change(name)(event.target.value)}
  />`;
  const choice = () =>
    html`<${Select} name="codec" value=${values.codec} choose=${change("codec")} options=${codecs} />`;
  return html`<form class="panel traffic" aria-labelledby="traffic-title" onSubmit=${send}>
    <h2 class="panel-title" id="traffic-title">${t("storage.traffic")}</h2>
    <div class="traffic-fields">
      ${TRAFFIC.map(
        (name) => html`<label key=${name} class="traffic-field" title=${t(`storage.traffic.${name}.about`)}>
          <span>${t(`storage.traffic.${name}`)}</span>
          ${name === "codec" ? choice() : number(name)}
        </label>`,
      )}
      <button type="submit" class="button button-primary" disabled=${isBusy.value}>
        ${t(isBusy.value ? "storage.building" : "storage.build")}
      </button>
    </div>
    ${refusal.value && html`<p class="problem" role="alert">${refusal.value}</p>`}
  </form>`;
}
