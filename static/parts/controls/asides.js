// @ts-check
// The buttons of a presentation that show and hide what is next to the stage.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";

/** `name`: of its text below "lab.present"; `isOpen`: a signal.
    @param {{ name: string, isOpen: import("@preact/signals").Signal<boolean> }} of */
export const Aside = ({ name, isOpen }) => html`<button
  type="button"
  class="button small-button"
  id=${`present-${name}`}
  aria-pressed=${isOpen.value}
  onClick=${() => (isOpen.value = !isOpen.peek())}
>
  ${t(`lab.present.${name}`)}
</button>`;
