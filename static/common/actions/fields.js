// @ts-check
// One field of a command, made from its line in the table of commands.

import { html } from "htm/preact";
import { t } from "../i18n.js";

/**
 * @typedef {object} CommandFieldFacts A line in the table of commands.
 * @property {string} name
 * @property {string} kind
 * @property {any} [default]
 * @property {number} [low]
 * @property {number} [high]
 * @property {string[]} allowed What a choice can be.
 *
 * @typedef {[value: string, text: string][]} Options
 */

/**
 * What a field begins with where the table leaves it open.
 *
 * @type {Record<string, number>}
 */
const STARTS = { ms: 1000, ratio: 0.3, n: 8 };
/** Fields that may stay empty: any will do. */
/** @param {CommandFieldFacts} field */
const isOpen = (field) => field.kind === "pattern";

/**
 * @param {object} properties
 * @param {CommandFieldFacts} properties.field
 * @param {any} [properties.start] What it begins with.
 * @param {Options} [properties.options] Where it is one of what is there.
 */
export function CommandField({ field, start = field.default ?? STARTS[field.name] ?? "", options }) {
  const label = t(`field.${field.name}`);
  if (field.kind === "switch")
    return html`<label class="form-row form-switch">
      <input type="checkbox" name=${field.name} defaultChecked=${start === true} /><span>${label}</span>
    </label>`;
  return html`<label class="form-row"><span>${label}</span>${inputOf(field, start, options)}</label>`;
}

/**
 * @param {CommandFieldFacts} field
 * @param {any} start
 * @param {Options} [options]
 */
function inputOf(field, start, options) {
  if (options)
    return html`<select name=${field.name}>
      ${options.map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
    </select>`;
  if (field.kind === "choice") return html`<${Choice} field=${field} start=${start} />`;
  return html`<input
    class="input"
    name=${field.name}
    type=${["integer", "number"].includes(field.kind) ? "number" : "text"}
    step=${field.kind === "number" ? "any" : 1}
    min=${field.low}
    max=${field.high}
    title=${isOpen(field) ? t("field.pattern") : undefined}
    placeholder=${isOpen(field) ? t("field.any") : undefined}
    required=${!isOpen(field)}
    defaultValue=${start}
  />`;
}

/** The names of frames are many: those that teach most come first. */
const FIRST_FRAMES = [
  "SEND_MESSAGE_V2",
  "reply to SEND_MESSAGE_V2",
  "PULL_MESSAGE",
  "reply to PULL_MESSAGE",
  "UPDATE_CONSUMER_OFFSET",
  "CONSUMER_SEND_MSG_BACK",
  "LOCK_BATCH_MQ",
  "UNLOCK_BATCH_MQ",
  "HEART_BEAT",
  "NOTIFY_CONSUMER_IDS_CHANGED",
  "END_TRANSACTION",
  "CHECK_TRANSACTION_STATE",
];

/** @type {Record<string, (value: string) => string>} */
const TEXTS = {
  result: (value) => t(`lab.listener.${value}`),
  what: (value) => t(`faults.what.${value}`),
  direction: (value) => t(`faults.direction.${value}`),
};

/** @param {{ field: CommandFieldFacts, start: any }} properties */
function Choice({ field, start }) {
  const isFrame = field.name === "frame";
  const first = isFrame ? FIRST_FRAMES.filter((name) => field.allowed.includes(name)) : [];
  const rest = field.allowed.filter((name) => name !== "" && !first.includes(name));
  const textOf = TEXTS[field.name] ?? ((value) => value);
  const chosen = start || (first[0] ?? start);
  // Not the select's value: a form that is drawn again keeps what was chosen.
  const option = (/** @type {string} */ value, text = textOf(value)) =>
    html`<option key=${value} value=${value} selected=${value === chosen}>${text}</option>`;
  return html`<select name=${field.name}>
    ${field.allowed.includes("") && option("", t(`field.any_${field.name}`))}
    ${first.map((name) => option(name))}
    ${
      isFrame
        ? html`<optgroup label=${t("lab.faults.other_frames")}>${rest.map((name) => option(name))}</optgroup>`
        : rest.map((name) => option(name))
    }
  </select>`;
}

/**
 * The value of a field in a form that was sent.
 *
 * @param {CommandFieldFacts} field
 * @param {FormData} data
 */
function readField(field, data) {
  if (field.kind === "switch") return data.get(field.name) !== null;
  if (field.kind === "names") return data.getAll(field.name);
  if (field.kind === "integer" || field.kind === "number") return Number(data.get(field.name));
  return data.get(field.name) ?? "";
}

/**
 * The values of all fields of a form that was sent, by their names.
 *
 * @param {CommandFieldFacts[]} fields
 * @param {FormData} data
 */
export const readFields = (fields, data) =>
  Object.fromEntries(fields.map((field) => [field.name, readField(field, data)]));
