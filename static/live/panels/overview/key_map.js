// @ts-check
// The key map: every shortcut, and the switch that turns them off.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../../common/i18n.js";
import { SHORTCUTS } from "../../keys.js";
import { shortcuts } from "../../../common/viewer/choices.js";
import { keyMapOpen } from "../../../common/cluster/selection.js";

export function KeyMap() {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    if (keyMapOpen.value && !dialog.current?.open) dialog.current?.showModal();
    if (!keyMapOpen.value && dialog.current?.open) dialog.current.close();
  }, [keyMapOpen.value]);
  const close = () => (keyMapOpen.value = false);
  const key = (name, text) => html`<div key=${name}><dt><kbd>${name}</kbd></dt><dd>${text}</dd></div>`;
  return html`<dialog
    class="key-map"
    id="key-map"
    ref=${dialog}
    aria-labelledby="key-map-title"
    onClose=${close}
    onClick=${(event) => event.target === dialog.current && close()}
  >
    <div class="key-map-body">
      <header class="inspector-head">
        <h2 id="key-map-title">${t("keys.title")}</h2>
        <button type="button" class="button button-close" onClick=${close}>
          ${t("word.close")} <kbd>Esc</kbd>
        </button>
      </header>
      <dl class="key-list">
        ${[...SHORTCUTS].map(([name, [text]]) => key(name, text))}
        ${key("?", t("keys.open"))}
        ${key("← →", t("keys.walk"))}
        ${key("Enter", t("keys.inspect"))}
        ${key("Esc", t("keys.close"))}
      </dl>
      <label class="switch">
        <input
          type="checkbox"
          checked=${shortcuts.value === "on"}
          onChange=${(event) => (shortcuts.value = event.target.checked ? "on" : "off")}
        />
        <span>${t("keys.switch")}</span>
      </label>
    </div>
  </dialog>`;
}
