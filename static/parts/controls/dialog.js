// @ts-check
// A dialog that is open while `isOpen`: Escape, its button and a click outside close it.

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../../common/i18n.js";
import { Button } from "./button.js";

/**
 * A dialog without a head: what it holds has a heading, `${id}-title`.
 *
 * @param {object} properties
 * @param {boolean} properties.isOpen
 * @param {() => void} properties.onClose
 * @param {string} properties.id
 * @param {string} [properties.kind] Its classes.
 * @param {any} [properties.children] Drawn only while it is open.
 */
export function BareDialog({ isOpen, onClose, id, kind = "", children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  // Before other effects: closing gives the focus back, and what reports a result then takes it.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (isOpen && !element?.open) element?.showModal();
    if (!isOpen && element?.open) element.close();
  }, [isOpen]);
  return html`<dialog
    class=${kind}
    id=${id}
    ref=${dialog}
    aria-labelledby=${`${id}-title`}
    onClose=${onClose}
    onClick=${(/** @type {MouseEvent} */ event) => event.target === dialog.current && onClose()}
  >
    ${isOpen && children}
  </dialog>`;
}

/**
 * @param {object} properties
 * @param {boolean} properties.isOpen
 * @param {() => void} properties.onClose
 * @param {string} properties.id
 * @param {string} [properties.kind] Its classes.
 * @param {any} properties.title
 * @param {any} [properties.children] Drawn only while it is open.
 */
export const Dialog = ({ title, children, ...properties }) =>
  html`<${BareDialog} ...${properties}>
    <div class="inspector-body">
      <header class="inspector-head">
        <h2 id=${`${properties.id}-title`}>${title}</h2>
        <${Button} class="button button-close" onClick=${properties.onClose}>
          ${t("word.close")} <kbd>Esc</kbd>
        </${Button}>
      </header>
      ${children}
    </div>
  </${BareDialog}>`;
