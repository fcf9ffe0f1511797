// @ts-check
// Opens two worlds side by side: this run on the left, on the right the same run with one difference.

import { html } from "htm/preact";
import { signal, useComputed, useSignal } from "@preact/signals";
import { addressOf } from "../../common/addresses.js";
import { t } from "../../common/i18n.js";
import { commandLine } from "../../common/world/command_line.js";
import { isRecording, run } from "../../common/world/session.js";
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
import { FormRow, Radio, sending } from "./choices.js";
import { Icon } from "./icons.js";
import { Select } from "../panel/select.js";

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
  const open = sending((fields) => {
    if (isSame) return void go({ left: view.peek().link, right: view.peek().link });
    const wanted = isSetting ? { command: settingCommand(fields), from_start: true } : change;
    const asked = wanted && { ...wanted, from_start: wanted.from_start && (isSetting || fromStart.peek()) };
    run.variant(asked).then(go, (error) => tell(error.message, true));
  });
  const from = [
    [true, t("lab.pair.from_start")],
    [false, t("lab.pair.from_here", { event: view.value.event })],
  ];
  return html`<form class="pair-form" onSubmit=${open}>
    <${OneOf} name="what" chosen=${chosen} options=${choices.map(({ text }, index) => [index, text])} />
    ${isSetting && html`<${SettingFields} />`}
    ${change?.command && html`<${OneOf} name="from" chosen=${fromStart} options=${from} />`}
    <p class="form-end">
      <button type="submit" class="button button-primary" id="pair-go">${t("lab.pair.go")}</button>
    </p>
  </form>`;
}

/**
 * @param {{ name: string, chosen: import("@preact/signals").Signal<number>, options: [value: number, text: string][] }}
 *   props
 */
const OneOf = ({ name, chosen, options }) =>
  html`<fieldset>
    <legend>${t(name === "what" ? "lab.pair.ask" : "lab.pair.from")}</legend>
    ${options.map(
      ([value, text]) =>
        html`<${Radio} key=${text} class="pair-choice" name=${name} value=${value} of=${chosen}>${text}<//>`,
    )}
  </fieldset>`;

/** @param {{ left: string, right: string }} links */
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

/** @type {(of: import("@preact/signals").Signal<string>) => (name: string) => void} */
const choosing = (of) => (name) => (of.value = name);

/** A node, one of its settings (those that control what is visible first), its value. */
function SettingFields() {
  const nodes = nodeNames.value.filter((one) => settingNames(one).length > 0);
  const node = useSignal(view.peek().settings[0]?.node ?? nodes[0]);
  const names = [...new Set([...seenSettings(node.value), ...settingNames(node.value)])];
  const wanted = useSignal(view.peek().settings[0]?.name);
  const shown = names.includes(wanted.value) ? wanted.value : names[0];
  const unit = settingFacts(node.value, shown)?.unit;
  return html`
    <${FormRow} label=${t("lab.events.node")}>
      <${Select} name="node" value=${node.value} choose=${choosing(node)} options=${nodes} />
    </${FormRow}>
    <${FormRow} label=${t("lab.pair.ask_name")}>
      <${Select} name="name" value=${shown} choose=${choosing(wanted)} options=${names} />
    </${FormRow}>
    <${FormRow} label=${`${t("word.value")}${unit ? ` (${unit})` : ""}`}>
      <input
        class="input" name="value" key=${`${node.value} ${shown}`} required
        defaultValue=${String(settingValue(node.value, shown))}
      />
    </${FormRow}>
  `;
}
