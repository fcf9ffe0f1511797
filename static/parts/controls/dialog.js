// A dialog that is open while `isOpen`: Escape, its button and a click outside close it.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../common/i18n.js";

export function Dialog({ isOpen, onClose, id, kind = "", title, children }) {
  const dialog = useRef(null);
  useEffect(() => {
    if (isOpen && !dialog.current.open) dialog.current.showModal();
    if (!isOpen && dialog.current.open) dialog.current.close();
  }, [isOpen]);
  return html`<dialog
    class=${kind}
    id=${id}
    ref=${dialog}
    aria-labelledby=${`${id}-title`}
    onClose=${onClose}
    onClick=${(event) => event.target === dialog.current && onClose()}
  >
    ${
      isOpen &&
      html`<div class="inspector-body">
        <header class="inspector-head">
          <h2 id=${`${id}-title`}>${title}</h2>
          <button type="button" class="button button-close" onClick=${onClose}>
            ${t("word.close")} <kbd>Esc</kbd>
          </button>
        </header>
        ${children}
      </div>`
    }
  </dialog>`;
}
