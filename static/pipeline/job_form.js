// @ts-check
// What starts a job: which one, what it reads, and a button; all else it can be told is folded away under "Advanced".

import { html } from "htm/preact";
import { signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t } from "../common/i18n.js";
import { choice } from "../common/viewer/choices.js";
import { Field, wordsFor } from "./job_field.js";
import { bilingual } from "../common/world/format.js";
import { Select } from "../parts/panel/select.js";
import { chosenJob, jobNamed, knownInfo, runningCount, start } from "./runs.js";

/** @typedef {Record<string, any>} Values By name of the parameter. */
/** @typedef {Picture.PipelineParameter} Parameter */

/** What was typed stays while the page lives, by job. */
const typed = signal(/** @type {Record<string, Values>} */ ({}));
const keys = signal({ access_key: "", secret_key: "" });
/** Whether the fields that one seldom needs are shown; the browser remembers it. */
const showsAdvanced = choice("pipeline.advanced", "no");
/** What a job reads comes first among its fields. */
const SOURCES = ["topics", "topic", "scenario"];

export function JobForm() {
  const job = jobNamed(chosenJob.value);
  const refusal = useSignal(/** @type {Awaited<ReturnType<typeof start>>} */ (null));
  const isStarting = useSignal(false);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  if (!job) return html`<div class="panel empty"><p class="empty-title">${t("pipeline.gone")}</p></div>`;
  const known = knownInfo();
  const values = typed.value[job.name] ?? {};
  /** @param {string} name @param {string | boolean} value */
  const set = (name, value) => (typed.value = { ...typed.value, [job.name]: { ...values, [name]: value } });
  const isFull = runningCount.value >= known.running_max;
  const lacks = missing(job, values);
  const [first, rest] = sorted(job.parameters);

  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    isStarting.value = true;
    refusal.value = await start(job.name, argumentsOf(job, values), keysOrNone());
    isStarting.value = false;
    const field = form.current?.elements.namedItem(refusal.value?.parameter ?? "");
    if (!(field instanceof HTMLElement)) return;
    field.closest("details")?.setAttribute("open", "");
    field.focus();
  };
  /** @param {Parameter[]} parameters */
  const fields = (parameters) =>
    parameters.map(
      (parameter) => html`<${Field}
        key=${`${job.name} ${parameter.name}`}
        parameter=${parameter}
        value=${values[parameter.name]}
        problem=${refusal.value?.parameter === parameter.name ? refusal.value?.text : null}
        onValue=${(/** @type {string | boolean} */ value) => set(parameter.name, value)}
      />`,
    );

  return html`<section class="panel" aria-labelledby="form-title">
    <form ref=${form} class="job-form" onSubmit=${submit} noValidate>
      <h2 class="sr-only" id="form-title">${t("pipeline.start_a_job")}</h2>
      <div class="job-first">
        <div class="job-field">
          <label class="field-name" for="job-choice">${t("pipeline.job")}</label>
          <${Select}
            id="job-choice"
            aria-describedby="job-about"
            value=${job.name}
            choose=${choose}
            options=${known.jobs.map(({ name, title }) => [name, bilingual(title)])}
          />
          <span class="field-help quiet" id="job-about">${bilingual(job.about)}</span>
        </div>
        ${fields(first)}
      </div>
      ${
        refusal.value && !isShown(job, refusal.value) && html`<p class="problem" role="alert">${refusal.value.text}</p>`
      }
      <div class="form-end">
        <button
          type="submit"
          class="button button-primary start-button"
          disabled=${isStarting.value || isFull || Boolean(lacks) || Boolean(known.problem)}
          aria-describedby="start-hint"
        >
          ${t("pipeline.start")}
        </button>
        <span class=${lacks ? "" : "quiet"} id="start-hint" role="status">${whyNot(isFull, lacks)}</span>
      </div>
      <details class="advanced" open=${showsAdvanced.value === "yes"} onToggle=${remember}>
        <summary>${t("pipeline.advanced")} <span class="quiet">${t("pipeline.advanced_hint")}</span></summary>
        <div class="job-rest">${fields(rest)}</div>
        ${known.asks_for_keys && html`<${Keys} />`}
        <p class="quiet">${t("pipeline.same_command")} <code>glassmq pipeline ${job.name}</code></p>
      </details>
    </form>
  </section>`;
}

/** @param {string} name */
const choose = (name) => (location.hash = name);

/** What a job reads and what it must be given, and the rest.
    @param {Parameter[]} parameters */
function sorted(parameters) {
  const source = parameters.find(({ kind }) => SOURCES.includes(kind));
  /** @param {Parameter} parameter */
  const isFirst = (parameter) => parameter === source || (parameter.required && parameter.default === null);
  return [parameters.filter(isFirst), parameters.filter((parameter) => !isFirst(parameter))];
}

/** @param {{ target: HTMLDetailsElement }} event */
const remember = ({ target: { open: isOpen } }) => (showsAdvanced.value = isOpen ? "yes" : "no");

/** @param {Picture.PipelineJob} job @param {{ parameter: string | null }} refusal */
const isShown = (job, { parameter }) => job.parameters.some(({ name }) => name === parameter);

/**
 * The first parameter that must be given and is not.
 *
 * @param {Picture.PipelineJob} job
 * @param {Values} values
 */
function missing(job, values) {
  /** @param {string} name */
  const isEmpty = (name) => !String(values[name] ?? "").trim();
  return job.parameters.find(
    ({ name, required, unless, default: fallback }) =>
      fallback === null && isEmpty(name) && (required || (unless !== null && isEmpty(unless))),
  );
}

/** Beside the button: why it cannot be pressed, or what happens then.
    @param {boolean} isFull @param {Parameter | undefined} lacks */
function whyNot(isFull, lacks) {
  if (isFull) return t("pipeline.full", { limit: knownInfo().running_max });
  if (lacks)
    return t(`pipeline.first_${lacks.kind === "topics" ? "topics" : "field"}`, { field: wordsFor(lacks.name) });
  return t("pipeline.start_hint", { master: knownInfo().master ?? "–" });
}

/**
 * What was typed; the rest is left to the job.
 *
 * @param {Picture.PipelineJob} job
 * @param {Values} values
 */
function argumentsOf(job, values) {
  const given = job.parameters.filter(({ name }) => values[name] !== undefined && values[name] !== "");
  return Object.fromEntries(given.map(({ name }) => [name, values[name]]));
}

function keysOrNone() {
  const { access_key: access, secret_key: secret } = keys.value;
  return access || secret ? { access_key: access, secret_key: secret } : null;
}

function Keys() {
  /** @type {(name: "access_key" | "secret_key", type: string) => any} */
  const field = (name, type) => html`<div class="job-field">
    <label class="field-name" for=${`field-${name}`}>${t(`pipeline.credential.${name}`)}</label>
    <input
      id=${`field-${name}`}
      type=${type}
      autocomplete="off"
      value=${keys.value[name]}
      onInput=${(/** @type {FieldEvent} */ event) => (keys.value = { ...keys.value, [name]: event.target.value })}
    />
  </div>`;
  return html`<fieldset class="keys">
    <legend>${t("pipeline.keys")}</legend><p class="quiet">${t("pipeline.keys_hint")}</p>
    ${field("access_key", "text")}${field("secret_key", "password")}
  </fieldset>`;
}
