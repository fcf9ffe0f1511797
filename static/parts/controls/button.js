// @ts-check
// A button of the pages: what all of them have in common.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";

/**
 * `label`: its name where it shows a sign, and its title where no other is given. `opens`: a signal that becomes true,
 * which opens a dialog. The rest are properties of the element.
 *
 * @param {{ class?: string, label?: string, title?: string, opens?: import("@preact/signals").Signal<boolean>,
 *   children?: any, [property: string]: any }} properties
 */
export const Button = ({ class: kind = "button", label, title = label, opens, children, ...rest }) =>
  html`<button
    type="button"
    class=${kind}
    title=${title}
    aria-label=${label}
    ...${opens && { "aria-haspopup": "dialog", onClick: () => (opens.value = true) }}
    ...${rest}
  >
    ${children}
  </button>`;

/**
 * A button that moves the stretch of time which a drawing shows. `name`: of its words below "lab.move".
 *
 * @param {{ name: string, sign: string, act: () => void, isOff?: boolean }} properties
 */
export const MoveTool = ({ name, sign, act, isOff = false }) =>
  html`<${Button} class="button icon-button" onClick=${act} disabled=${isOff} label=${t(`lab.move.${name}`)}>
    ${sign}
  </${Button}>`;
