// @ts-check
// Finding a message in both stores: first a prediction, then what was read, step by step, then what it cost.

import { html } from "htm/preact";
import { effect, signal } from "@preact/signals";
import { count, typedKey } from "../common/format.js";
import { t } from "../common/i18n.js";
import { ask, knownStores, STORES, stores } from "./laboratory.js";
import { Steps } from "./steps.js";
import { FIGURES, Verdict } from "./verdict.js";
import { Button } from "../parts/controls/button.js";
import { Segmented } from "../parts/controls/choices.js";
import { Panel } from "../parts/panel/panel.js";
import { Select } from "../parts/panel/select.js";

/** @type {Way[]} */
const WAYS = ["offset", "key", "time"];

/**
 * @typedef {"offset" | "key" | "time"} Way
 * @typedef {object} Question
 * @property {Way} by
 * @property {string | null} topic null: the first one.
 * @property {string} queue
 * @property {Partial<Record<Way, string>>} values What was typed for each way.
 *
 * @typedef {object} Search What was asked, what was predicted, and what came out.
 * @property {Record<Picture.StoreName, Picture.StoreSearch>} result
 * @property {{ by: Way, topic: string, queue: string, value: string }} question
 * @property {Record<string, string>} prediction
 */

/** @type {Question} */
const FRESH = { by: "offset", topic: null, queue: "0", values: {} };
const question = signal(FRESH);
const prediction = signal(/** @type {Record<string, string>} */ ({}));
/** The last search; null: none yet. */
const search = signal(/** @type {Search | null} */ (null));
const problem = signal(/** @type {string | null} */ (null));
/** How many steps of each store are shown. */
const shown = signal(0);

// What was asked of other stores says nothing of these.
effect(() => {
  if (stores.value === null) return;
  question.value = FRESH;
  search.value = null;
  problem.value = null;
});

export function Find() {
  return html`
    <${Panel} name="find" kind="find" title=${t("storage.find")}>
      <form class="find-form" onSubmit=${predict}>
        <${QuestionFields} /><${Prediction} />
        <div class="button-row find-end">
          <button type="submit" class="button button-primary">${t("storage.find.run")}</button>
          <span class="quiet">${t("storage.find.seek_meaning")}</span>
        </div>
        ${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
      </form>
    </${Panel}>
    ${search.value && html`<${Result} search=${search.value} />`}
  `;
}

/**
 * What a fresh form asks for: something in the middle of what is there.
 *
 * @param {Way} by
 */
function defaultValue(by) {
  const { traffic, time_step_ms: step } = knownStores();
  const middle = Math.floor((traffic.messages * 5) / 8);
  if (by === "offset") return String(Math.floor(middle / (traffic.topics * traffic.queues)));
  if (by === "time") return String(middle * step);
  const number = traffic.distinct_keys ? (middle - (middle % traffic.topics)) % traffic.distinct_keys : 0;
  return `K${String(number).padStart(5, "0")}`;
}

/** @param {Question} question */
const valueOf = ({ by, values }) => values[by] ?? defaultValue(by);
/** @param {Partial<Question>} changes */
const change = (changes) => (question.value = { ...question.peek(), ...changes });

function QuestionFields() {
  const { by, topic, queue, values } = question.value;
  const { topics, traffic } = knownStores();
  const queues = Array.from({ length: traffic.queues }, (_, number) => String(number));
  return html`<div class="find-fields">
    <${Segmented}
      name="by"
      legend=${t("live.search.by")}
      options=${WAYS.map((way) => [way, t(`storage.find.by_${way}`)])}
      chosen=${by}
      choose=${(/** @type {Way} */ way) => change({ by: way })}
    />
    <label class="traffic-field">
      <span>${t("field.topic")}</span>
      <${Select}
        name="topic"
        value=${topic ?? topics[0]}
        choose=${(/** @type {string} */ name) => change({ topic: name })}
        options=${topics}
      />
    </label>
    ${
      by !== "key" &&
      html`<label class="traffic-field">
        <span>${t("storage.find.queue")}</span>
        <${Select}
          name="queue"
          value=${queue}
          choose=${(/** @type {string} */ number) => change({ queue: number })}
          options=${queues}
        />
      </label>`
    }
    <label class="traffic-field">
      <span>${t(`storage.find.value_${by}`)}</span>
      <input
        class="input number"
        name="value"
        required
        maxlength="40"
        inputmode=${by === "key" ? "text" : "numeric"}
        value=${valueOf(question.value)}
        onInput=${(/** @type {FieldEvent} */ event) => change({ values: { ...values, [by]: event.target.value } })}
      />
    </label>
  </div>`;
}

function Prediction() {
  /** @type {(store: Picture.StoreName, figure: string) => (event: FieldEvent) => void} */
  const set = (store, figure) => (event) =>
    (prediction.value = { ...prediction.peek(), [`${store}.${figure}`]: event.target.value });
  return html`<fieldset class="prediction">
    <legend>${t("storage.find.predict")}</legend>
    ${STORES.map(
      (store) => html`<div key=${store} class="prediction-store">
        <strong>${t(`storage.store.${store}`)}</strong>
        ${FIGURES.map(
          (figure) => html`<label key=${figure} class="traffic-field">
            <span>${t(`storage.find.predict_${figure}`)}</span>
            <input
              class="input number"
              type="number"
              name=${`${store}-${figure}`}
              min="0"
              max="1000000000"
              required
              value=${prediction.value[`${store}.${figure}`] ?? ""}
              onInput=${set(store, figure)}
            />
          </label>`,
        )}
      </div>`,
    )}
  </fieldset>`;
}

/** @param {SubmitEvent} event */
async function predict(event) {
  event.preventDefault();
  const { by, topic, queue } = question.value;
  const asked = { by, topic: topic ?? knownStores().topics[0], queue, value: typedKey(valueOf(question.value)) };
  const { answer, why } = await ask("find", asked);
  problem.value = why ?? null;
  if (!answer) return;
  shown.value = 1;
  search.value = { result: answer, question: asked, prediction: prediction.value };
}

/** @type {(props: { search: Search }) => any} */
function Result({ search: { result, question: asked, prediction: predicted } }) {
  const most = Math.max(...STORES.map((store) => result[store].steps.length));
  const isOver = shown.value >= most;
  /** @type {(key: string, upTo: number) => any} */
  const button = (key, upTo) =>
    html`<${Button} disabled=${isOver} onClick=${() => (shown.value = upTo)}>${t(`storage.find.${key}`)}</${Button}>`;
  const head = html`
    ${button("step", shown.value + 1)}${button("all", most)}
    <span class="quiet number" role="status">${t("word.step", { at: Math.min(shown.value, most), of: most })}</span>
  `;
  return html`
    <${Panel} name="steps" kind="find-result" title=${t(`storage.find.title_${asked.by}`, asked)} head=${head}>
      <div class="store-steps">
        ${STORES.map(
          (store) =>
            html`<${Steps} key=${store} store=${store} told=${result[store]} by=${asked.by} shown=${shown.value} />`,
        )}
      </div>
    </${Panel}>
    ${isOver && html`<${Verdict} result=${result} prediction=${predicted} by=${asked.by} />`}
    <p class="sr-only" role="status">${isOver ? t("storage.find.over", { n: count(most) }) : ""}</p>
  `;
}
