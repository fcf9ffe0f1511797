// The search for a schedule that breaks the order: which locks are off, how it goes, what it found, and the way to see
// that happen on the stage. The server searches in a process of its own; this panel asks how far it has come.

import { html } from "htm/preact";
import { computed, signal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { COMMANDS } from "../commands.js";
import { bilingual, span, virtualTime } from "../format.js";
import { isRecording, openLink } from "../session.js";
import { calmView, tell, view } from "../view.js";
import { Icon } from "./icons.js";

const ADDRESS = "/api/lab/explorations";
const ASK_EVERY_MS = 400;
const DEFAULT_HOLD_MS = 2000;
const PAUSE_MS = 90_000;

/** The search of this page: what the server last said of it, with its id; or null. */
const search = signal(null);
const withPauses = signal(false);

/** The search looks for broken order: without orderly consumers there is none to break. */
const hasOrderly = computed(() => Object.values(calmView.value.nodes).some((node) => node.orderly));

const isRunning = (state) => state !== null && !["done", "cancelled", "failed"].includes(state.phase);
const switches = () => COMMANDS["lock-switch"]?.fields.find((field) => field.name === "lock")?.allowed ?? [];

async function answerOf(response) {
  const answer = await response.json();
  if (!response.ok) throw new Error(bilingual(answer.error) || t("lab.no_answer"));
  return answer;
}

async function begin(event) {
  event.preventDefault();
  const form = new FormData(event.currentTarget);
  const request = { world: view.peek().world.id, without: form.getAll("without"), max_stalls: Number(form.get("max_stalls")) };
  request[withPauses.peek() ? "pause_ms" : "hold_ms"] = [Number(form.get("ms"))];
  search.value = { phase: "starting", schedules: 0 };
  try {
    const response = await fetch(ADDRESS, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request) });
    const { id } = await answerOf(response);
    search.value = { ...search.peek(), id };
    setTimeout(ask, ASK_EVERY_MS);
  } catch (error) {
    search.value = null;
    tell(error.message, true);
  }
}

async function ask() {
  const { id } = search.peek();
  try {
    search.value = { id, ...(await answerOf(await fetch(`${ADDRESS}/${id}`))) };
  } catch (error) {
    search.value = { id, phase: "failed", schedules: 0 };
    tell(error.message, true);
  }
  if (isRunning(search.peek())) setTimeout(ask, ASK_EVERY_MS);
}

async function cancel() {
  const { id } = search.peek();
  if (id) search.value = { id, ...(await answerOf(await fetch(`${ADDRESS}/${id}`, { method: "DELETE" }))) };
}

export function Explorer() {
  if (isRecording()) return html`<p class="panel-empty quiet">${t("lab.explorer.needs_server")}</p>`;
  if (!hasOrderly.value) return html`<p class="panel-empty quiet explorer">${t("lab.explorer.no_orderly")}</p>`;
  const state = search.value;
  return html`<div class="explorer"><details class="explorer-request" open=${state === null || undefined} key=${state === null}>
    <summary>${t("lab.explorer.request")}</summary><p class="quiet">${t("lab.explorer.hint")} ${t("lab.explorer.own_story")}</p><${Form} running=${isRunning(state)} /></details>
    ${state !== null && html`<${Progress} state=${state} />`}
    ${state?.finding && html`<${Finding} finding=${state.finding} />`}
    ${state !== null && !isRunning(state) && !state.finding && html`<${Nothing} state=${state} />`}</div>`;
}

function Form({ running }) {
  const whole = withPauses.value;
  return html`<form class="explorer-form" onSubmit=${begin}>
    <fieldset><legend>${t("lab.explorer.without")}</legend>
      ${switches().map((name) => html`<label key=${name} class="explorer-switch"><input type="checkbox" name="without" value=${name} /><span>${t(`lab.explorer.switch_${name.replaceAll("-", "_")}`)}</span></label>`)}</fieldset>
    <label class="form-row"><span>${t("lab.explorer.who")}</span><select name="who" onChange=${(event) => (withPauses.value = event.currentTarget.value === "node")}>
      <option value="actor" selected=${!whole}>${t("lab.explorer.who_actor")}</option><option value="node" selected=${whole}>${t("lab.explorer.who_node")}</option></select></label>
    <label class="form-row"><span>${t("lab.explorer.ms")}</span><input class="input" type="number" name="ms" min="1" max="600000" required key=${`ms ${whole}`} defaultValue=${whole ? PAUSE_MS : DEFAULT_HOLD_MS} /></label>
    <label class="form-row"><span>${t("lab.explorer.max_stalls")}</span><select name="max_stalls" key=${`stalls ${whole}`}>
      ${[0, 1, 2].map((count) => html`<option key=${count} value=${count} selected=${count === (whole ? 1 : 2)}>${count}</option>`)}</select></label>
    <div class="form-end"><button type="submit" class="button button-primary" disabled=${running || !view.value.world.id}>${t("lab.explorer.begin")}</button></div></form>`;
}

function Progress({ state }) {
  const running = isRunning(state);
  const figures = [t("lab.explorer.schedules", { n: state.schedules })];
  if (state.cpu_seconds > 0) figures.push(t("lab.explorer.rate", { rate: Math.round(state.schedules / state.cpu_seconds) }));
  if (state.planned > 1) figures.push(t("lab.explorer.depth", { n: state.depth, done: state.done, planned: state.planned }));
  if (state.seconds) figures.push(span(state.seconds * 1_000_000));
  const share = running ? (state.planned ? state.done / state.planned : 0) : 1;
  return html`<section class="explorer-progress" aria-live="polite"><div class="explorer-bar"><progress max="1" value=${share} aria-label=${t("lab.explorer.progress")}></progress>
    ${running && html`<button type="button" class="button" onClick=${cancel}>${t("lab.explorer.cancel")}</button>`}</div>
    <p class="number">${figures.join(" · ")}</p>
    <p class="quiet">${t(`lab.explorer.phase_${state.phase}`)}${state.world && running ? ` ${t(`lab.explorer.in_${state.world}`)}` : ""}</p></section>`;
}

function Finding({ finding }) {
  const { violation, holds, link, end_link: endLink } = finding;
  const now = view.value.time_us;
  return html`<section class="explorer-finding"><h3><span class="badge badge-bad">${t(`lab.explorer.anomaly_${violation.anomaly.replaceAll(" ", "_")}`)}</span> ${t("lab.explorer.found", { n: holds.length })}</h3>
    <p>${bilingual(violation.text)}</p>
    ${holds.length === 0 ? html`<p>${t("lab.explorer.by_itself")}</p>`
    : html`<ol class="explorer-holds">${holds.map((hold) => html`<li key=${`${hold.actor} ${hold.event}`} aria-current=${now >= hold.time_us && now < hold.time_us + hold.ms * 1000 ? "step" : undefined}>
      <span class="explorer-when"><span class="number quiet">${virtualTime(hold.time_us)} s</span> <span class="chip">${hold.actor}</span> <span class="badge">${span(hold.ms * 1000)}</span></span>
      <span>${bilingual(hold.caption)}</span>${bilingual(hold.meanwhile) && html`<span class="quiet">${bilingual(hold.meanwhile)}</span>`}</li>`)}</ol>`}
    <div class="explorer-ways"><button type="button" class="button button-primary" onClick=${() => openLink(link)}><${Icon} name="play" /><span>${t("lab.explorer.replay")}</span></button>
      <button type="button" class="button" onClick=${() => openLink(endLink)}>${t("lab.explorer.to_end")}</button></div>
    <p class="quiet">${t("lab.explorer.replay_hint")}</p></section>`;
}

function Nothing({ state }) {
  if (state.error) return html`<p class="panel-note">${bilingual(state.error)}</p>`;
  if (state.phase !== "done") return html`<p class="panel-note">${t(state.phase === "failed" ? "lab.explorer.failed" : "lab.explorer.was_cancelled")}</p>`;
  const outcome = state.is_complete ? "lab.explorer.all_run" : state.unconfirmed ? "lab.explorer.unconfirmed" : "lab.explorer.incomplete";
  return html`<section class="explorer-finding"><h3>${t("lab.explorer.nothing")}</h3>
    <p>${t(outcome, { n: state.schedules, stalls: state.max_stalls, from: state.from_ms / 1000, to: state.to_ms / 1000 })}</p>
    ${state.why && html`<p>${bilingual(state.why)}</p>`}</section>`;
}
