// @ts-check
// Buttons for how a page is viewed: motion and the map of keys in its head, what a presentation has next to the stage.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { keyMapOpen } from "../../common/viewer/choices.js";
import { motionWanted, setMotion } from "../../common/viewer/motion.js";
import { Button } from "./button.js";

/**
 * @param {object} properties
 * @param {string} properties.name That of its texts.
 * @param {boolean} properties.isOn
 * @param {(isOn: boolean) => void} properties.set
 * @param {string} [properties.hint]
 */
export const Toggle = ({ name, isOn, set, hint = t(`controls.${name}_hint`) }) =>
  html`<${Button}
    class=${`button toggle toggle-${name}`} aria-pressed=${isOn} onClick=${() => set(!isOn)} title=${hint}
  >
    <span class="toggle-sign" aria-hidden="true"></span><span class="button-text">${t(`controls.${name}`)}</span>
  </${Button}>`;

/** @param {{ hint?: string }} properties */
export const MotionToggle = ({ hint }) =>
  html`<${Toggle} name="motion" isOn=${motionWanted.value} set=${setMotion} hint=${hint} />`;

export const KeysButton = () =>
  html`<${Button} opens=${keyMapOpen} title=${t("keys.open")}>
    <kbd aria-hidden="true">?</kbd><span class="sr-only">${t("keys.title")}</span>
  </${Button}>`;

/** Shows and hides what is next to the stage of a presentation. `name`: of its text below "lab.present"; `isOpen`: a
    signal.
    @param {{ name: string, isOpen: import("@preact/signals").Signal<boolean> }} of */
export const Aside = ({ name, isOpen }) => html`<${Button}
  class="button small-button" id=${`present-${name}`} aria-pressed=${isOpen.value}
  onClick=${() => (isOpen.value = !isOpen.peek())}
>
  ${t(`lab.present.${name}`)}
</${Button}>`;
