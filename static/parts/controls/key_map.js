// @ts-check
// The key map: every shortcut, and the switch that turns them off.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { shortcuts } from "../../common/viewer/choices.js";
import { keyMapOpen, SHORTCUTS } from "./keys.js";
import { Dialog } from "./dialog.js";

function shortcutText(text) {
  const words = t(text);
  return text.startsWith("lab.panel.") ? t("word.go_to", { name: words }) : words;
}

export function KeyMap() {
  const key = (name, text) => html`<div key=${name}><dt><kbd>${name}</kbd></dt><dd>${text}</dd></div>`;
  return html`<${Dialog}
    isOpen=${keyMapOpen.value}
    onClose=${() => (keyMapOpen.value = false)}
    id="key-map"
    kind="key-map"
    title=${t("keys.title")}
  >
    <dl class="key-list">
      ${[...SHORTCUTS].map(([name, [text]]) => key(name === " " ? t("lab.keys.space") : name, shortcutText(text)))}
      ${key("?", t("keys.open"))}
      ${key("Page Down Page Up", t("lab.keys.page"))}
      ${key("← →", t("lab.keys.walk"))}
      ${key("+ −", t("lab.keys.zoom"))}
      ${key("Enter", t("lab.keys.open"))}
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
  </${Dialog}>`;
}
