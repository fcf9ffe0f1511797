// @ts-check
// A form for one kind of command, made from its line in the table.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { CommandField, readFields } from "../../common/actions/fields.js";
import { t } from "../../common/i18n.js";
import { COMMANDS, commandName, commandText } from "../../common/world/commands.js";
import { compare, nodeNames, nodesOfRole, view } from "../../common/world/view.js";
import { command } from "../../common/world/session.js";

/** `target`: given for a node's menu; otherwise the form asks for it. */
export function CommandForm({ kind, target, onDone }) {
  const spec = COMMANDS[kind];
  const form = useSignal(null);
  const submit = (event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const values = readFields(spec.fields, data);
    command(kind, target ?? readTarget(spec.target, data), values);
    onDone?.();
  };
  return html`<form
    class="command-form"
    data-command=${kind}
    ref=${(element) => (form.value = element)}
    onSubmit=${submit}
  >
    <p class="command-text quiet">${commandText(kind)}</p>
    ${target === undefined && html`<${TargetFields} target=${spec.target} />`}
    ${spec.fields.map((field) => html`<${Field} key=${field.name} field=${field} />`)}
    <button type="submit" class="button button-primary command-go">${commandName(kind)}</button>
  </form>`;
}

function TargetFields({ target }) {
  const nodes = nodeNames.value;
  const select = (name, options, chosen, label) =>
    html`<label class="form-row">
      <span>${label}</span>
      <select name=${name} value=${chosen}>
        ${options.map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
      </select>
    </label>`;
  const names = nodes.map((name) => [name, name]);
  if (target === "link" || target === "link or nothing") {
    const any = target === "link" ? [] : [["", t("lab.until.any_node")]];
    const first = nodesOfRole.producer.value[0] ?? nodes[0];
    const last = nodesOfRole.broker.value[0] ?? nodes.at(-1);
    return html`
      ${select("source", [...any, ...names], any.length ? "" : first, t("lab.faults.source"))}
      ${
        target === "link" &&
        select(
          "way",
          [
            ["<->", t("lab.faults.both_ways")],
            ["->", t("lab.faults.one_way")],
          ],
          "<->",
          t("lab.faults.way"),
        )
      }
      ${select("sink", [...any, ...names], any.length ? "" : last, t("field.to"))}
    `;
  }
  if (target === "topic")
    return select(
      "topic",
      topicNames().map((name) => [name, name]),
      undefined,
      t("field.topic"),
    );
  if (target === "new node")
    return html`<label class="form-row">
      <span>${t("lab.faults.new_name")}</span>
      <input class="input" name="new_name" required maxlength="40" value=${freeName()} />
    </label>`;
  return null;
}

function readTarget(target, data) {
  if (target === "link") return `${data.get("source")}${data.get("way")}${data.get("sink")}`;
  if (target === "link or nothing")
    return data.get("source") && data.get("sink") ? `${data.get("source")}->${data.get("sink")}` : "";
  return data.get("topic") ?? data.get("new_name") ?? "";
}

function Field({ field }) {
  if (field.kind === "names") return html`<${Names} field=${field} />`;
  const consumers = field.name === "like" || field.name === "to" ? nodesOfRole.consumer.value : null;
  return html`<${CommandField} field=${field} options=${consumers?.map((name) => [name, name])} />`;
}

/** One side of a partition: a box per node. */
function Names({ field }) {
  const isLeft = field.name === "left";
  const chosen = isLeft ? nodesOfRole.consumer.value.slice(0, 1) : nodesOfRole.broker.value;
  return html`<fieldset class="names-field">
    <legend>${t(`field.${field.name}`)}</legend>
    ${nodeNames.value.map(
      (name) => html`<label key=${name} class="switch">
        <input type="checkbox" name=${field.name} value=${name} defaultChecked=${chosen.includes(name)} />
        <span>${name}</span>
      </label>`,
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
