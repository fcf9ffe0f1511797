// @ts-check
// The filter bench: an expression, a message's properties, and what the broker's own code makes of them.

import { html } from "htm/preact";
import { render } from "preact";
import { signal } from "@preact/signals";
import "../common/chrome.js";
import { elementOf } from "../common/elements.js";
import { t } from "../common/i18n.js";
import { Button } from "../parts/controls/button.js";
import { Panel } from "../parts/panel/panel.js";
import { Tags } from "./tags.js";
import { Tree } from "./tree.js";
import { post } from "../common/request.js";

/**
 * @typedef {[name: string, value: string]} Property
 *
 * What a click on an example fills in: a name for its text, the expression, the properties.
 *
 * @typedef {[name: string, expression: string, properties: Property[]]} Example
 *
 * @type {Example[]}
 */
const EXAMPLES = [
  ["between", "age BETWEEN 0 AND 6", [["age", "7"]]],
  ["unknown", "NOT (age BETWEEN 0 AND 6)", [["city", "Lyon"]]],
  ["not_binds", "NOT age = 3", [["age", "5"]]],
  [
    "failure",
    "age > 5 OR city = 'Lyon'",
    [
      ["age", "seven"],
      ["city", "Lyon"],
    ],
  ],
  ["integer", "created > 0", [["created", "1767225600000"]]],
  ["mistake", "age BETWEN 0 AND 6", [["age", "3"]]],
];
/**
 * What app/live/filter_bench.py answers, or why it does not.
 *
 * @typedef {Picture.EvaluatedFilter | Picture.RefusedFilter | { error?: string }} Evaluated
 */

const PROPERTIES_MAX = 30;
/** The expression is sent this long after the last key. */
const PAUSE_MS = 250;

const asked = new URLSearchParams(location.search);
const expression = signal(asked.get("expression") ?? EXAMPLES[0][1]);
const properties = signal(asked.has("expression") ? asked.getAll("p").map(splitProperty) : EXAMPLES[0][2]);
const answer = signal(/** @type {Evaluated | null} */ (null));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let newest = 0;

/**
 * @param {string} text
 * @returns {Property}
 */
function splitProperty(text) {
  const at = text.indexOf("=");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

async function evaluate() {
  const number = ++newest;
  const named = properties.value.filter(([name]) => name !== "");
  const wanted = { expression: expression.value, properties: Object.fromEntries(named) };
  const { answer: result, why } = await post("/api/filter/evaluate", wanted);
  if (number === newest) answer.value = result ?? { error: why };
}

function changed() {
  clearTimeout(timer);
  timer = setTimeout(evaluate, PAUSE_MS);
}

/**
 * @param {number} index
 * @param {0 | 1} part Its name, or its value.
 * @param {string} value
 */
function setProperty(index, part, value) {
  /** @type {Property} */
  const changedPair = [...properties.value[index]];
  changedPair[part] = value;
  properties.value = properties.value.with(index, changedPair);
  changed();
}

/** @param {Example} example */
function take([, text, pairs]) {
  expression.value = text;
  properties.value = pairs;
  evaluate();
}

function Bench() {
  return html`<div class="bench">
    <${Panel} name="bench-input" kind="bench-input" title=${t("filter.message")}>
      <div class="bench-body">
        <label class="bench-field">
          <span>${t("filter.expression")}</span>
          <textarea
            class="mono"
            rows="3"
            maxlength="1000"
            spellcheck="false"
            autocapitalize="off"
            aria-describedby="bench-verdict"
            value=${expression.value}
            onInput=${(/** @type {FieldEvent} */ event) => {
              expression.value = event.target.value;
              changed();
            }}
          ></textarea>
        </label>
        <${Properties} />
        <div class="examples">
          <h3>${t("filter.examples")}</h3>
          <ul class="example-list">
            ${EXAMPLES.map(
              (example) =>
                html`<li key=${example[0]}>
                  <${Button} class="link-button" onClick=${() => take(example)}>
                    ${t(`filter.example.${example[0]}`)}
                  </${Button}>
                </li>`,
            )}
          </ul>
        </div>
      </div>
    </${Panel}>
    <${Panel} name="bench-result" kind="bench-result" title=${t("filter.result")}>
      <div class="bench-body" aria-live="polite"><${Result} /></div>
    </${Panel}>
    <${Tags} />
  </div>`;
}

function Properties() {
  /** @type {(index: number, at: 0 | 1, value: string, rest: object) => any} */
  const part = (index, at, value, rest) =>
    html`<input
      class="mono" type="text" value=${value} ...${rest}
      onInput=${(/** @type {FieldEvent} */ event) => setProperty(index, at, event.target.value)}
    />`;
  return html`<fieldset class="properties">
    <legend>${t("filter.properties")}</legend>
    ${properties.value.length === 0 && html`<p class="quiet">${t("filter.no_properties")}</p>`}
    ${properties.value.map(
      ([name, value], index) => html`<div class="property" key=${index}>
        ${part(index, 0, name, { maxlength: "100", "aria-label": t("filter.property_name", { n: index + 1 }) })}
        <span aria-hidden="true">=</span>
        ${part(index, 1, value, { maxlength: "1000", "aria-label": t("filter.property_value", { n: index + 1 }) })}
        <${Button}
          label=${t("filter.remove", { name: name || index + 1 })}
          onClick=${() => {
            properties.value = properties.value.filter((_, at) => at !== index);
            changed();
          }}
        >
          ×
        </${Button}>
      </div>`,
    )}
    <${Button}
      disabled=${properties.value.length >= PROPERTIES_MAX}
      onClick=${() => {
        properties.value = [...properties.value, ["", ""]];
      }}
    >
      ${t("filter.add")}
    </${Button}>
  </fieldset>`;
}

function Result() {
  const result = answer.value;
  if (!result) return html`<p class="quiet" id="bench-verdict">…</p>`;
  if ("mistake" in result) return html`<${Mistake} error=${result.mistake} />`;
  if (!("tree" in result)) return html`<p class="problem" id="bench-verdict">${result.error}</p>`;
  return html`
    <p id="bench-verdict" class=${`verdict ${result.matches ? "is-match" : "is-no-match"}`}>
      ${t(result.matches ? "filter.matches" : `filter.matches_not_${result.tree.outcome}`)}
    </p>
    <${Tree} part=${result.tree} />
  `;
}

/** The line of the expression at fault, its column marked, and why.
    @param {{ error: Picture.FilterMistake }} props */
function Mistake({ error }) {
  return html`
    <p id="bench-verdict" class="problem">
      ${t("filter.place", { line: error.line, column: error.column })}${" "}
      ${t(`filter.problem.${error.problem}`, error.details)}
    </p>
    <pre class="marked mono" aria-hidden="true">${error.marked}</pre>
    <p class="quiet">${t("filter.refused")}</p>
  `;
}

render(html`<${Bench} />`, elementOf("bench"));
evaluate();
