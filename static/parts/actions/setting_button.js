// @ts-check
// The current value of a setting, next to what it controls; a press opens its editor.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { shortMs } from "../../common/world/format.js";
import { settingFacts, settingValue } from "../../common/world/settings.js";
import { openSetting } from "../../common/world/view.js";
import { Button } from "../controls/button.js";
import { Icon } from "../controls/icons.js";

/** `label`: its words where it says more than its value. The rest are properties of the element. */
export function SettingButton({ node, name, label = "", class: kind = "setting-button", ...rest }) {
  const facts = name && settingFacts(node, name);
  if (!facts) return null;
  const value = settingValue(node, name);
  const text = facts.unit === "ms" ? shortMs(value) : typeof value === "number" ? `${value}` : "…";
  const title = t("lab.settings.edit", { name, value: `${value} ${facts.unit}`.trim() });
  return html`<${Button}
    class=${`${kind} ${value !== facts.default ? "is-changed" : ""}`} data-edit=${`${node} ${name}`}
    aria-haspopup="dialog" onClick=${() => (openSetting.value = { node, name })} title=${title}
    label=${label ? `${label}: ${title}` : title} ...${rest}
  >
    ${label && html`<span>${label}</span>`}
    <span class="setting-value">
      <${Icon} name=${facts.unit === "ms" ? "timer" : "edit"} /><span class="number">${text}</span>
    </span>
  </${Button}>`;
}
