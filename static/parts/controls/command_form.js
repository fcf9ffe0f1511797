// @ts-check
// A form for one kind of command, made from its line in the table.

import { html } from "htm/preact";
import { CommandField, readFields } from "../../common/actions/fields.js";
import { t } from "../../common/i18n.js";
import { COMMANDS, commandName, commandText } from "../../common/world/commands.js";
import { compare, nodeNames, nodesOfRole, view } from "../../common/world/view.js";
import { command } from "../../common/world/session.js";
import { Select } from "../panel/select.js";
import { FormRow, Switch, sending } from "./choices.js";

/** `target`: given for a node's menu; otherwise the form asks for it.
    @param {{ kind: string, target?: string, onDone?: () => void }} props */
export function CommandForm({ kind, target, onDone }) {
  const spec = COMMANDS[kind];
  const submit = sending((fields) => {
    command(kind, target ?? readTarget(spec.target, fields), readFields(spec.fields, fields));
    onDone?.();
  });
  return html`<form class="command-form" data-command=${kind} onSubmit=${submit}>
    <p class="command-text quiet">${commandText(kind)}</p>
    ${target === undefined && html`<${TargetFields} target=${spec.target} />`}
    ${spec.fields.map((field) => html`<${Field} key=${field.name} field=${field} />`)}
    <button type="submit" class="button button-primary command-go">${commandName(kind)}</button>
  </form>`;
}

/** @typedef {import("../../common/world/commands.js").CommandKind["fields"][number]} FieldSpec */

const WAYS = [
  ["<->", "lab.faults.both_ways"],
  ["->", "lab.faults.one_way"],
];

/** @param {{ target: string }} props */
function TargetFields({ target }) {
  const nodes = nodeNames.value;
  /** @type {(name: string, label: string, options: (string | string[])[], chosen?: string) => any} */
  const select = (name, label, options, chosen) =>
    html`<${FormRow} label=${label}><${Select} name=${name} value=${chosen} options=${options} /></${FormRow}>`;
  if (target === "link") {
    const first = nodesOfRole.producer.value[0] ?? nodes[0];
    const last = nodesOfRole.broker.value[0] ?? nodes.at(-1);
    const ways = WAYS.map(([way, text]) => [way, t(text)]);
    return html`
      ${select("source", t("lab.faults.source"), nodes, first)} ${select("way", t("lab.faults.way"), ways, "<->")}
      ${select("sink", t("field.to"), nodes, last)}
    `;
  }
  if (target === "link or nothing") {
    const any = [["", t("lab.until.any_node")], ...nodes];
    return html`${select("source", t("lab.faults.source"), any, "")} ${select("sink", t("field.to"), any, "")}`;
  }
  if (target === "topic") return select("topic", t("field.topic"), topicNames());
  if (target === "new node")
    return html`<${FormRow} label=${t("lab.faults.new_name")}>
      <input class="input" name="new_name" required maxlength="40" value=${freeName()} />
    </${FormRow}>`;
  return null;
}

/** @param {string} target @param {FormData} data */
function readTarget(target, data) {
  if (target === "link") return `${data.get("source")}${data.get("way")}${data.get("sink")}`;
  if (target === "link or nothing")
    return data.get("source") && data.get("sink") ? `${data.get("source")}->${data.get("sink")}` : "";
  return data.get("topic") ?? data.get("new_name") ?? "";
}

/** @param {{ field: FieldSpec }} props */
function Field({ field }) {
  if (field.kind === "names") return html`<${Names} field=${field} />`;
  const consumers = field.name === "like" || field.name === "to" ? nodesOfRole.consumer.value : null;
  return html`<${CommandField} field=${field} options=${consumers?.map((name) => [name, name])} />`;
}

/** One side of a partition: a box per node.
    @param {{ field: FieldSpec }} props */
function Names({ field }) {
  const isLeft = field.name === "left";
  const chosen = isLeft ? nodesOfRole.consumer.value.slice(0, 1) : nodesOfRole.broker.value;
  return html`<fieldset class="names-field">
    <legend>${t(`field.${field.name}`)}</legend>
    ${nodeNames.value.map(
      (name) =>
        html`<${Switch}
          key=${name} name=${field.name} value=${name} text=${name}
          defaultChecked=${chosen.includes(name)}
        />`,
    )}
  </fieldset>`;
}

const topicNames = () =>
  [
    ...new Set(
      Object.values(view.value.nodes).flatMap((node) =>
        Object.entries(node.topics ?? {})
          .filter(([, topic]) => topic.kind === "normal")
          .map(([name]) => name),
      ),
    ),
  ].sort(compare);

function freeName() {
  const taken = view.peek().nodes;
  for (let number = 1; ; number += 1) if (!(`C${number}` in taken)) return `C${number}`;
}
