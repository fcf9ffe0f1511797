// What a job is asked: a form made from the job's own description, with the broker's topics and groups to choose from.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { language, t } from "../common/i18n.js";
import { groupNames, userTopics } from "../live/view.js";
import { chosenJob, info, inLanguage, jobNamed, runningCount, start } from "./runs.js";

/** What was typed stays while the page lives: job -> name -> value. */
const typed = signal({});
const keys = signal({ access_key: "", secret_key: "" });
/** Topics that get a button of their own beside the field. */
const MOST_BUTTONS = 16;

export function JobForm() {
  const job = jobNamed(chosenJob.value);
  const refusal = useSignal(null);
  const isStarting = useSignal(false);
  const form = useRef(null);
  if (!job) return html`<div class="panel empty"><p class="empty-title">${t("pipeline.gone")}</p></div>`;
  const values = typed.value[job.name] ?? {};
  const set = (name, value) => (typed.value = { ...typed.value, [job.name]: { ...values, [name]: value } });
  const isFull = runningCount.value >= info.value.running_max;

  const submit = async (event) => {
    event.preventDefault();
    isStarting.value = true;
    refusal.value = missing(job, values) ?? (await start(job.name, argumentsOf(job, values), keysOrNone()));
    isStarting.value = false;
    if (refusal.value?.parameter) form.current.elements[refusal.value.parameter]?.focus();
  };

  return html`<section class="panel" aria-labelledby="form-title">
    <header class="panel-head">
      <h2 class="panel-title" id="form-title">${inLanguage(job.title)}</h2>
      <code class="quiet">glassmq pipeline ${job.name}</code>
    </header>
    <div class="form-body">
      <p class="form-about">${inLanguage(job.about)}</p>
      <form ref=${form} class="job-form" onSubmit=${submit} noValidate>
        ${job.parameters.map(
          (parameter) => html`<${Field}
            key=${parameter.name}
            parameter=${parameter}
            value=${values[parameter.name]}
            problem=${refusal.value?.parameter === parameter.name ? refusal.value.text : null}
            onValue=${(value) => set(parameter.name, value)}
          />`,
        )}
        ${info.value.asks_for_keys && html`<${Keys} />`}
        ${
          refusal.value &&
          !isShown(job, refusal.value) &&
          html`<p class="problem" role="alert">${refusal.value.text}</p>`
        }
        <div class="form-end">
          <button
            type="submit"
            class="button button-primary"
            disabled=${isStarting.value || isFull || Boolean(info.value.problem)}
          >
            ${t("pipeline.start")}
          </button>
          <span class="quiet">
            ${
              isFull
                ? t("pipeline.full", { limit: info.value.running_max })
                : t("pipeline.start_hint", { master: info.value.master ?? "–" })
            }
          </span>
        </div>
      </form>
    </div>
  </section>`;
}

const isShown = (job, { parameter }) => job.parameters.some(({ name }) => name === parameter);

/** The first parameter that must be given and is not. */
function missing(job, values) {
  const empty = job.parameters.find(
    ({ name, required, default: fallback }) => required && fallback === null && !String(values[name] ?? "").trim(),
  );
  return empty ? { parameter: empty.name, text: t("pipeline.must_be_given") } : null;
}

/** What was typed; the rest is left to the job. */
function argumentsOf(job, values) {
  const given = job.parameters.filter(({ name }) => values[name] !== undefined && values[name] !== "");
  return Object.fromEntries(given.map(({ name }) => [name, values[name]]));
}

function keysOrNone() {
  const { access_key: access, secret_key: secret } = keys.value;
  return access || secret ? { access_key: access, secret_key: secret } : null;
}

function Field({ parameter, value, problem, onValue }) {
  const { name, kind, required } = parameter;
  const id = `field-${name}`;
  const described = `${id}-help${problem ? ` ${id}-problem` : ""}`;
  const common = { id, name, "aria-describedby": described, "aria-invalid": problem ? "true" : null };
  const help = html`
    <span class="field-help quiet" id=${`${id}-help`}>${inLanguage(parameter.help)}${hint(parameter)}</span>
    ${problem && html`<span class="field-problem" id=${`${id}-problem`} role="alert">${problem}</span>`}
  `;
  if (kind === "switch") {
    return html`<div class="job-field">
      <label class="switch">
        <input
          type="checkbox"
          ...${common}
          checked=${value ?? parameter.default ?? false}
          onChange=${(event) => onValue(event.target.checked)}
        />
        <span class="field-name">${nameOf(name)}</span>
      </label>
      ${help}
    </div>`;
  }
  return html`<div class="job-field">
    <label class="field-name" for=${id}>
      ${nameOf(name)}${required ? html` <span class="required">${t("pipeline.required")}</span>` : ""}
    </label>
    <${Control} parameter=${parameter} common=${common} value=${value} onValue=${onValue} />${help}
  </div>`;
}

/** "starting_offsets" -> "starting offsets": the name by which help and documents know it. */
const nameOf = (name) => html`<code>${name.replaceAll("_", "-")}</code>`;

function Control({ parameter, common, value, onValue }) {
  const { kind, choices, default: fallback } = parameter;
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
      return html`<select ...${common} value=${value ?? fallback ?? ""} onChange=${onInput}>
        ${fallback === null && html`<option value="">–</option>`}
        ${choices.map((choice) => html`<option key=${choice} value=${choice}>${choice}</option>`)}
      </select>`;
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
        <code class="quiet" aria-hidden="true" title=${info.value.folder}>data/pipeline/</code><input ...${text} />
      </span>`;
    default:
      return html`<input ...${text} />`;
  }
}

function Suggested({ input, names }) {
  const list = `${input.id}-names`;
  return html`
    <input ...${input} list=${list} />
    <datalist id=${list}>${names.map((name) => html`<option key=${name} value=${name} />`)}</datalist>
  `;
}

/** The broker's topics: a click puts one into the list or takes it out. */
function TopicButtons({ value, onValue }) {
  const topics = useComputed(() => userTopics.value.slice(0, MOST_BUTTONS));
  const chosen = value
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  const toggle = (topic) =>
    onValue((chosen.includes(topic) ? chosen.filter((name) => name !== topic) : [...chosen, topic]).join(","));
  if (topics.value.length === 0) return null;
  return html`<span class="topic-buttons" role="group" aria-label=${t("pipeline.broker_topics")}>
    ${topics.value.map(
      (topic) => html`<button
        key=${topic}
        type="button"
        class="button row-button"
        aria-pressed=${chosen.includes(topic)}
        onClick=${() => toggle(topic)}
      >
        ${topic}
      </button>`,
    )}
  </span>`;
}

/** What may be written, where the help does not say it. */
function hint({ kind, minimum, maximum, default: fallback }) {
  const parts = [];
  if (kind === "duration") parts.push(t("pipeline.duration_hint"));
  if (minimum !== null && maximum !== null) parts.push(t("pipeline.range_hint", { minimum, maximum }));
  if (fallback !== null && kind !== "switch")
    parts.push(t("pipeline.default_hint", { value: String(fallback) + (kind === "duration" ? " ms" : "") }));
  return parts.map((part) => (language === "zh" ? part : ` ${part}`)).join("");
}

function Keys() {
  const field = (name, type) => html`<div class="job-field">
    <label class="field-name" for=${`field-${name}`}>${t(`pipeline.${name}`)}</label>
    <input
      id=${`field-${name}`}
      type=${type}
      autocomplete="off"
      value=${keys.value[name]}
      onInput=${(event) => (keys.value = { ...keys.value, [name]: event.target.value })}
    />
  </div>`;
  return html`<fieldset class="keys">
    <legend>${t("pipeline.keys")}</legend><p class="quiet">${t("pipeline.keys_hint")}</p>
    ${field("access_key", "text")}${field("secret_key", "password")}
  </fieldset>`;
}
