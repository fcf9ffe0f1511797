// Timers and sizes of the scenario, editable in place. Another value makes another past: the run forks.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { memo } from "../memo.js";
import { command, isRecording } from "../session.js";
import { view } from "../view.js";

export function Settings() {
  const settings = useComputed(() => view.value.settings);
  const nodes = [...new Set(settings.value.map((setting) => setting.node))];
  if (nodes.length === 0) return html`<p class="panel-empty quiet">${t("lab.settings.none")}</p>`;
  return html`<p class="panel-note quiet">${t("lab.settings.hint")}</p>
    ${nodes.map((node) => html`<section key=${node} class="settings-node" aria-label=${node || t("lab.settings.world")}><h3>${node || t("lab.settings.world")}</h3>
      ${settings.value.filter((setting) => setting.node === node).map((setting) => html`<${Setting} key=${setting.name} setting=${setting} />`)}</section>`)}`;
}

const Setting = memo(({ setting }) => {
  const { node, name, value, unit } = setting;
  const kind = typeof value;
  const change = (event) => {
    const field = event.currentTarget;
    const next = kind === "boolean" ? field.checked : kind === "number" ? Number(field.value) : field.value;
    if (next !== value) command("setting", node, { name, value: next });
  };
  const options = { disabled: isRecording(), onChange: change, "data-setting": `${node} ${name}` };
  return html`<label class="setting"><span class="setting-name mono">${name}</span>
    ${kind === "boolean" ? html`<input type="checkbox" checked=${value} ...${options} />`
    : html`<input class="input" type=${kind === "number" ? "number" : "text"} step="any" value=${value} ...${options} />`}<span class="unit">${unit ?? ""}</span></label>`;
});
