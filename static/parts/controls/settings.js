// @ts-check
// Timers and sizes, editable in place. Another value makes another past: the run starts again from its beginning.

import { html } from "htm/preact";
import { useComputed, useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { command, isRecording } from "../../common/world/session.js";
import {
  knownSettingFacts,
  seenSettings,
  settingFacts,
  settingNames,
  settingValue,
} from "../../common/world/settings.js";
import { nodeNames, openSetting, view } from "../../common/world/view.js";
import { Button } from "./button.js";
import { Dialog } from "./dialog.js";
import { FormRow, NumberInput, SearchInput } from "./choices.js";

/** @typedef {import("../../common/world/settings.js").SettingFacts} SettingFacts */

export function Settings() {
  const wanted = useSignal("");
  const text = wanted.value.trim().toLowerCase();
  const set = useComputed(() => view.value.settings);
  /** @param {string} node */
  const namesOf = (node) => {
    const changed = set.value.filter((setting) => setting.node === node).map((setting) => setting.name);
    if (!text) return [...new Set([...changed, ...seenSettings(node)])];
    return settingNames(node).filter((name) =>
      `${node} ${name} ${knownSettingFacts(node, name).java}`.toLowerCase().includes(text),
    );
  };
  const nodes = nodeNames.value
    .map((node) => /** @type {[string, string[]]} */ ([node, namesOf(node)]))
    .filter(([, names]) => names.length > 0);
  return html`
    <div class="panel-tools">
      <${SearchInput} of=${wanted} id="settings-filter" label=${t("lab.settings.search")} />
    </div>
    <p class="panel-note quiet">${isRecording() ? t("lab.recording_fixed") : t("lab.settings.hint")}</p>
    ${nodes.length === 0 && html`<p class="panel-empty quiet">${t("lab.no_match")}</p>`}
    ${nodes.map(
      ([node, names]) => html`<section key=${node} class="settings-node" aria-label=${node}>
        <h3>${node}</h3>
        ${names.map((name) => html`<${Setting} key=${name} node=${node} name=${name} />`)}
      </section>`,
    )}
  `;
}

/** @param {{ node: string, name: string }} props */
function Setting({ node, name }) {
  const value = settingValue(node, name);
  const facts = settingFacts(node, name);
  const isChanged = facts !== null && value !== facts.default;
  return html`<label class=${`setting ${isChanged ? "is-changed" : ""}`}>
    <span class="setting-name mono" title=${facts?.java ?? ""}>${name}</span>
    <${Field}
      ...${{ node, name, value, facts }}
      onChange=${(/** @type {FieldEvent} */ event) => change(node, name, value, event.currentTarget)}
    />
    <span class="unit">${facts?.unit ?? ""}</span>
  </label>`;
}

/** @param {{ node: string, name: string, value: unknown, facts: SettingFacts | null, [other: string]: any }} props */
function Field({ node, name, value, facts, ...rest }) {
  const options = { disabled: isRecording(), "data-setting": `${node} ${name}`, ...rest };
  if (typeof value === "boolean") return html`<input type="checkbox" checked=${value} ...${options} />`;
  if (facts?.choices)
    return html`<select class="input" ...${options}>
      ${facts.choices.map((choice) => html`<option key=${choice} selected=${choice === value}>${choice}</option>`)}
    </select>`;
  if (typeof value !== "number")
    return html`<input class="input" type="text" maxlength="200" value=${value} ...${options} />`;
  const { low, high, is_whole: isWhole } = facts ?? {};
  return html`<${NumberInput} min=${low} max=${high} step=${isWhole ? 1 : "any"} value=${value} ...${options} />`;
}

/** Sends the new value; the field shows the old one until the run has been repeated with it.
    @param {string} node @param {string} name @param {unknown} value @param {HTMLInputElement} field */
function change(node, name, value, field) {
  const next =
    typeof value === "boolean" ? field.checked : typeof value === "number" ? Number(field.value) : field.value;
  if (next === value) return true;
  if (field.value === "" && typeof value === "number") field.value = String(value);
  if (!field.reportValidity()) return false;
  if (typeof value === "boolean") field.checked = value;
  else field.value = String(value);
  command("setting", node, { name, value: next });
  return true;
}

/** The editor of one setting. */
export function SettingDialog() {
  const open = openSetting.value;
  const close = () => (openSetting.value = null);
  return html`<${Dialog}
    isOpen=${open !== null}
    onClose=${close}
    id="setting-dialog"
    kind="small-dialog"
    title=${open ? html`<span class="mono">${open.name}</span> <span class="quiet">${open.node}</span>` : ""}
  >
    ${open && html`<${Editor} key=${`${open.node} ${open.name}`} ...${open} onDone=${close} />`}
  </${Dialog}>`;
}

/** @param {{ node: string, name: string, onDone: () => void }} props */
function Editor({ node, name, onDone }) {
  const facts = knownSettingFacts(node, name);
  const value = settingValue(node, name);
  /** @param {{ currentTarget: HTMLFormElement } & Event} event */
  const submit = (event) => {
    event.preventDefault();
    const field = /** @type {HTMLInputElement} */ (event.currentTarget.querySelector("input, select"));
    if (change(node, name, value, field)) onDone();
  };
  /** @param {string} key @param {string} text */
  const fact = (key, text) =>
    html`<div class="fact"><dt>${t(`lab.settings.${key}`)}</dt><dd class="mono">${text}</dd></div>`;
  /** @param {unknown} number */
  const withUnit = (number) => `${number} ${facts.unit}`.trim();
  return html`<form class="setting-editor" onSubmit=${submit}>
    <dl class="facts">
      ${fact("java", facts.java)}
      ${fact("default", withUnit(facts.default))}
      ${
        facts.low !== undefined &&
        fact("bounds", t("lab.settings.from_to", { low: withUnit(facts.low), high: withUnit(facts.high) }))
      }
    </dl>
    <${FormRow} label=${t("lab.settings.value")}>
      <span class="setting-input">
        <${Field} ...${{ node, name, value, facts }} /> <span class="unit">${facts.unit}</span>
      </span>
    </${FormRow}>
    <p class="quiet">${isRecording() ? t("lab.recording_fixed") : t("lab.settings.hint")}</p>
    <p class="form-end">
      <${Button} onClick=${onDone}>${t("word.cancel")}</${Button}>
      <button type="submit" class="button button-primary" disabled=${isRecording()}>${t("lab.settings.apply")}</button>
    </p>
  </form>`;
}
