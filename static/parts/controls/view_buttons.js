// @ts-check
// Buttons in the head of a page for how it is viewed: motion, the map of keys.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { keyMapOpen } from "../../common/viewer/choices.js";
import { motionWanted, setMotion } from "../../common/viewer/motion.js";

/**
 * @param {object} properties
 * @param {string} properties.name That of its texts.
 * @param {boolean} properties.isOn
 * @param {(isOn: boolean) => void} properties.set
 * @param {string} [properties.hint]
 */
export const Toggle = ({ name, isOn, set, hint = t(`controls.${name}_hint`) }) =>
  html`<button
    type="button"
    class=${`button toggle toggle-${name}`}
    aria-pressed=${isOn}
    onClick=${() => set(!isOn)}
    title=${hint}
  >
    <span class="toggle-sign" aria-hidden="true"></span><span class="button-text">${t(`controls.${name}`)}</span>
  </button>`;

/** @param {{ hint?: string }} properties */
export const MotionToggle = ({ hint }) =>
  html`<${Toggle} name="motion" isOn=${motionWanted.value} set=${setMotion} hint=${hint} />`;

export const KeysButton = () =>
  html`<button
    type="button"
    class="button"
    onClick=${() => (keyMapOpen.value = true)}
    aria-haspopup="dialog"
    title=${t("keys.open")}
  >
    <kbd aria-hidden="true">?</kbd><span class="sr-only">${t("keys.title")}</span>
  </button>`;
