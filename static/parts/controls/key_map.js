// @ts-check
// The key map: every shortcut, and the switch that turns them off.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { keyMapOpen, shortcuts } from "../../common/viewer/choices.js";
import { Dialog } from "./dialog.js";
import { Switch } from "./choices.js";

/** @param {{ rows: [key: string, text: string][] }} properties The page's own; "?" and Esc are everywhere. */
export const KeyMap = ({ rows }) =>
  html`<${Dialog}
    isOpen=${keyMapOpen.value}
    onClose=${() => (keyMapOpen.value = false)}
    id="key-map"
    kind="key-map"
    title=${t("keys.title")}
  >
    <dl class="key-list">
      ${[...rows, ["?", t("keys.open")], ["Esc", t("keys.close")]].map(
        ([name, text]) => html`<div key=${name}><dt><kbd>${name}</kbd></dt><dd>${text}</dd></div>`,
      )}
    </dl>
    <${Switch}
      text=${t("keys.switch")}
      isOn=${shortcuts.value === "on"}
      set=${(/** @type {boolean} */ isOn) => (shortcuts.value = isOn ? "on" : "off")}
    />
  </${Dialog}>`;
