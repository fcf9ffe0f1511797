// @ts-check
// One thing that a job is asked: a field made from the parameter's own description, named in words.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { language, t } from "../common/i18n.js";
import { groupNames, userTopics } from "../common/cluster/lists.js";
import { bilingual } from "../common/world/format.js";
import { Select } from "../parts/panel/select.js";
import { knownInfo } from "./runs.js";
import { Button } from "../parts/controls/button.js";

/** Topics that get a button of their own next to the field. */
const MOST_BUTTONS = 16;

/**
 * @typedef {object} FieldProps
 * @property {Picture.PipelineParameter} parameter
 * @property {any} value What was typed or chosen; undefined: nothing yet.
 * @property {(value: string | boolean) => void} onValue
 *
 * @param {FieldProps & { problem: string | null }} properties `problem`: why the server refused it.
 */
export function Field({ parameter, value, problem, onValue }) {
  const { name, kind, required } = parameter;
  const id = `field-${name}`;
  const described = `${id}-help${problem ? ` ${id}-problem` : ""}`;
  const common = { id, name, "aria-describedby": described, "aria-invalid": problem ? "true" : null };
  const help = html`
    <span class="field-help quiet" id=${`${id}-help`}>${bilingual(parameter.help)}${hint(parameter)}</span>
    ${problem && html`<span class="problem-text" id=${`${id}-problem`} role="alert">${problem}</span>`}
  `;
  if (kind === "switch") {
    return html`<div class="job-field">
      <label class="switch">
        <input
          type="checkbox"
          ...${common}
          checked=${value ?? parameter.default ?? false}
          onChange=${(/** @type {FieldEvent} */ event) => onValue(event.target.checked)}
        />
        <${Name} name=${name} />
      </label>
      ${help}
    </div>`;
  }
  return html`<div class="job-field">
    <label for=${id}>
      <${Name} name=${name} />${required && html` <span class="required">${t("pipeline.required")}</span>`}
    </label>
    <${Control} parameter=${parameter} common=${common} value=${value} onValue=${onValue} />${help}
  </div>`;
}

/** What a parameter is called in words, and next to it, small, the option's name in help and documents.
    @param {{ name: string }} props */
function Name({ name }) {
  return html`<span class="field-name">${wordsFor(name)}</span>
    <code class="option-name quiet">${name.replaceAll("_", "-")}</code>`;
}

/** @param {string} name */
export function wordsFor(name) {
  const key = `pipeline.parameter.${name}`;
  const words = t(key);
  return words === key ? name.replaceAll("_", " ") : words;
}

/** @param {FieldProps & { common: { id: string } }} props */
function Control({ parameter, common, value, onValue }) {
  const { kind, choices, default: fallback } = parameter;
  /** @param {FieldEvent} event */
  const onInput = (event) => onValue(event.target.value);
  const text = {
    ...common,
    type: "text",
    value: value ?? "",
    placeholder: fallback === null ? "" : String(fallback),
    autocomplete: "off",
    spellcheck: false,
    onInput,
  };
  switch (kind) {
    case "choice":
      return html`<${Select}
        ...${common} value=${value ?? fallback ?? ""} choose=${onValue}
        options=${fallback === null ? [["", "–"], ...choices] : choices}
      />`;
    case "topic":
      return html`<${Suggested} input=${text} names=${userTopics.value} />`;
    case "group":
      return html`<${Suggested} input=${text} names=${groupNames.value} />`;
    case "scenario":
      return html`<${Suggested} input=${text} names=${choices} />`;
    case "topics":
      return html`<input ...${text} /><${TopicButtons} value=${value ?? ""} onValue=${onValue} />`;
    case "integer":
    case "duration":
      return html`<input class="short-input" ...${text} inputmode=${kind === "integer" ? "numeric" : "text"} />`;
    case "folder":
      return html`<span class="folder-field">
        <code class="quiet" aria-hidden="true" title=${knownInfo().folder}>data/pipeline/</code><input ...${text} />
      </span>`;
    default:
      return html`<input ...${text} />`;
  }
}

/** @param {{ input: { id: string }, names: string[] }} props */
function Suggested({ input, names }) {
  const list = `${input.id}-names`;
  return html`
    <input ...${input} list=${list} />
    <datalist id=${list}>${names.map((name) => html`<option key=${name} value=${name} />`)}</datalist>
  `;
}

/** The broker's topics: a click puts one into the list or takes it out.
    @param {{ value: string, onValue: (value: string) => void }} props */
function TopicButtons({ value, onValue }) {
  const topics = useComputed(() => userTopics.value.slice(0, MOST_BUTTONS));
  const chosen = value
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  /** @param {string} topic */
  const toggle = (topic) =>
    onValue((chosen.includes(topic) ? chosen.filter((name) => name !== topic) : [...chosen, topic]).join(","));
  if (topics.value.length === 0) return null;
  return html`<span class="button-row" role="group" aria-label=${t("pipeline.broker_topics")}>
    ${topics.value.map(
      (topic) => html`<${Button}
        key=${topic} class="button row-button" aria-pressed=${chosen.includes(topic)} onClick=${() => toggle(topic)}
      >
        ${topic}
      </${Button}>`,
    )}
  </span>`;
}

/**
 * What may be written, where the help does not say it.
 *
 * @param {Picture.PipelineParameter} parameter
 */
function hint({ kind, minimum, maximum, default: fallback }) {
  const parts = [];
  if (kind === "duration") parts.push(t("pipeline.duration_hint"));
  if (minimum !== null && maximum !== null) parts.push(t("pipeline.range_hint", { minimum, maximum }));
  if (fallback !== null && kind !== "switch")
    parts.push(t("pipeline.default_hint", { value: String(fallback) + (kind === "duration" ? " ms" : "") }));
  return parts.map((part) => (language === "zh" ? part : ` ${part}`)).join("");
}
