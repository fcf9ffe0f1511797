// @ts-check
// What the head of a lesson's page offers besides theme and language: motion, and the map of keys.

import { html } from "htm/preact";
import { t } from "../common/i18n.js";
import { keyMapOpen } from "../parts/controls/keys.js";
import { motionWanted, setMotion } from "../common/viewer/motion.js";

export function Choices() {
  return html`
    <button
      type="button"
      class="button toggle toggle-motion"
      aria-pressed=${motionWanted.value}
      onClick=${() => setMotion(!motionWanted.value)}
      title=${t("controls.motion_hint").replace(/[(（]m[)）]/, "")}
    >
      <span class="toggle-sign" aria-hidden="true"></span><span class="button-text">${t("controls.motion")}</span>
    </button>
    <button
      type="button"
      class="button"
      onClick=${() => (keyMapOpen.value = true)}
      aria-haspopup="dialog"
      title=${t("keys.open")}
    >
      <kbd aria-hidden="true">?</kbd><span class="sr-only">${t("keys.title")}</span>
    </button>
  `;
}
