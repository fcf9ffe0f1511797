// @ts-check
// Opens two worlds side by side: this run on the left, on the right the same run with one difference.

import { html } from "htm/preact";
import { signal, useComputed, useSignal } from "@preact/signals";
import { addressOf } from "../../common/addresses.js";
import { t } from "../../common/i18n.js";
import { commandLine } from "../../common/world/command_line.js";
import { isRecording, variantOf } from "../../common/world/session.js";
import {
  knownSettingFacts,
  seenSettings,
  settingFacts,
  settingNames,
  settingValue,
} from "../../common/world/settings.js";
import { loaded, nodeNames, tell, view } from "../../common/world/view.js";
import { Button } from "./button.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";

const ORDERLY_SWITCHES = ["broker-lock", "message-queue-lock", "process-queue-lock", "consuming-flag"];

const isOpen = signal(false);

export function Comparison() {
  if (isRecording()) return null;
  return html`<${Button} id="side-by-side" opens=${isOpen} title=${t("lab.pair.open_hint")}>
    <${Icon} name="differs" /><span class="button-text">${t("lab.pair.open")}</span>
  </${Button}>`;
}

/** It is in the page, not in its head: what drops down there goes when a dialog opens. */
export const ComparisonDialog = () => html`<${Dialog}
  isOpen=${isOpen.value && loaded.value}
  onClose=${() => (isOpen.value = false)}
  id="pair-dialog"
  kind="small-dialog"
  title=${t("lab.pair.open")}
>
  <${Choice} />
</${Dialog}>`;

/** Each switch that this world has, the other way round. */
function switches() {
  const nodes = Object.values(view.value.nodes);
  const names = [
    ...(nodes.some((node) => node.orderly) ? ORDERLY_SWITCHES : []),
    ...(nodes.some((node) => node.bank) ? ["idempotent-consumer"] : []),
  ];
  return names.map((lock) => ({
    kind: "lock-switch",
    target: "",
    lock,
    on: nodes.some((node) => node.switched_off?.includes(lock)),
  }));
}

function Choice() {
  const offered = useComputed(switches).value;
  const last = useComputed(() => view.value.commands.at(-1)).value;
  /** @type {{ text: string, change?: any, isSetting?: boolean, isSame?: boolean }[]} */
  const choices = [
    ...offered.map((command) => ({ text: commandLine(command), change: { command, from_start: true } })),
    ...(last ? [{ text: t("lab.pair.ask_last", { command: commandLine(last) }), change: null }] : []),
    { text: t("lab.pair.ask_setting"), isSetting: true },
    { text: t("lab.pair.ask_nothing"), isSame: true },
  ];
  const chosen = useSignal(0);
  const fromStart = useSignal(true);
  const { change, isSame, isSetting } = choices[chosen.value];
  const open = (event) => {
    event.preventDefault();
    if (isSame) return void go({ left: view.peek().link, right: view.peek().link });
    const wanted = isSetting
      ? { command: settingCommand(new FormData(event.currentTarget)), from_start: true }
      : change;
    const asked = wanted && { ...wanted, from_start: wanted.from_start && (isSetting || fromStart.peek()) };
    variantOf(asked).then(go, (error) => tell(error.message, true));
  };
  return html`<form class="pair-form" onSubmit=${open}>
    <fieldset>
      <legend>${t("lab.pair.ask")}</legend>
      ${choices.map(
        ({ text }, index) => html`<label class="pair-choice" key=${text}>
          <input type="radio" name="what" checked=${chosen.value === index} onChange=${() => (chosen.value = index)} />
          ${text}
        </label>`,
      )}
    </fieldset>
    ${isSetting && html`<${SettingFields} />`}
    ${
      change?.command &&
      html`<fieldset>
        <legend>${t("lab.pair.from")}</legend>
        ${[true, false].map(
          (value) => html`<label class="pair-choice" key=${value}>
            <input
              type="radio"
              name="from"
              checked=${fromStart.value === value}
              onChange=${() => (fromStart.value = value)}
            />
            ${value ? t("lab.pair.from_start") : t("lab.pair.from_here", { event: view.value.event })}
          </label>`,
        )}
      </fieldset>`
    }
    <p class="form-end">
      <button type="submit" class="button button-primary" id="pair-go">${t("lab.pair.go")}</button>
    </p>
  </form>`;
}

function go({ left, right }) {
  const scenario = encodeURIComponent(view.peek().scenario);
  location.assign(addressOf(`/lab/pair?scenario=${scenario}#${new URLSearchParams({ left, right })}`));
}

/** @param {FormData} form */
const settingCommand = (form) => {
  const [node, name] = [String(form.get("node")), String(form.get("name"))];
  const { default: standard } = knownSettingFacts(node, name);
  const text = String(form.get("value")).trim();
  return { kind: "setting", target: node, name, value: typeof standard === "number" ? Number(text) : text };
};

/** A node, one of its settings (those that control what is visible first), its value. */
function SettingFields() {
  const nodes = nodeNames.value.filter((one) => settingNames(one).length > 0);
  const node = useSignal(view.peek().settings[0]?.node ?? nodes[0]);
  const names = [...new Set([...seenSettings(node.value), ...settingNames(node.value)])];
  const wanted = useSignal(view.peek().settings[0]?.name);
  const shown = names.includes(wanted.value) ? wanted.value : names[0];
  const unit = settingFacts(node.value, shown)?.unit;
  const row = (label, field) => html`<label class="form-row"><span>${label}</span>${field}</label>`;
  const options = (all) => all.map((one) => html`<option key=${one} value=${one}>${one}</option>`);
  return html`
    ${row(
      t("lab.events.node"),
      html`<select name="node" value=${node.value} onChange=${(e) => (node.value = e.currentTarget.value)}>
        ${options(nodes)}
      </select>`,
    )}
    ${row(
      t("lab.pair.ask_name"),
      html`<select name="name" value=${shown} onChange=${(e) => (wanted.value = e.currentTarget.value)}>
        ${options(names)}
      </select>`,
    )}
    ${row(
      `${t("word.value")}${unit ? ` (${unit})` : ""}`,
      html`<input
        class="input"
        name="value"
        key=${`${node.value} ${shown}`}
        defaultValue=${String(settingValue(node.value, shown))}
        required
      />`,
    )}
  `;
}
