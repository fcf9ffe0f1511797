// @ts-check
// The search for a schedule that breaks an invariant: what is searched, how it goes, what it found, and the way to see
// that happen on the stage. The server searches in a process of its own; this panel polls its progress.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { demand } from "../../common/request.js";
import { t } from "../../common/i18n.js";
import { anomalyName, bilingual, span, virtualTime } from "../../common/world/format.js";
import { replayTo, run } from "../../common/world/session.js";
import { calmView, tell, view } from "../../common/world/view.js";
import { CrashPoints } from "./crash_points.js";
import { ExplorerForm } from "./explorer_form.js";
import { Button } from "../controls/button.js";
import { Icon } from "../controls/icons.js";

const ADDRESS = "/api/lab/explorations";
const ASK_EVERY_MS = 400;

/** The search of this page as the server last reported it, with its id; or null. At first, only its phase is known. */
const search = signal(/** @type {any} */ (null));

/** @param {Picture.WholeSearch | null} state */
const isRunning = (state) => state !== null && !["done", "cancelled", "failed"].includes(state.phase);

/** What a search with these settings would do. */
const planOf = (request) => demand("POST", `${ADDRESS}/plan`, request);

async function begin(request) {
  search.value = { phase: "starting", schedules: 0 };
  try {
    const { id } = await demand("POST", ADDRESS, request);
    const { isUnwanted } = search.peek();
    search.value = { ...search.peek(), id };
    if (isUnwanted) await cancel();
    else setTimeout(ask, ASK_EVERY_MS);
  } catch (error) {
    search.value = null;
    tell(error.message, true);
  }
}

async function ask() {
  const { id } = search.peek();
  try {
    search.value = { id, ...(await demand("GET", `${ADDRESS}/${id}`)) };
  } catch (error) {
    search.value = { id, phase: "failed", schedules: 0 };
    tell(error.message, true);
  }
  if (isRunning(search.peek())) setTimeout(ask, ASK_EVERY_MS);
}

async function cancel() {
  const { id } = search.peek();
  // Before the server has named the search it cannot be ended: it is ended as soon as it has.
  if (!id) search.value = { ...search.peek(), isUnwanted: true };
  else search.value = { id, ...(await demand("DELETE", `${ADDRESS}/${id}`)) };
}

export function Explorer() {
  const state = search.value;
  return html`<div class="explorer">
    <details class="explorer-request" open=${state === null || undefined} key=${state === null}>
      <summary>${t("lab.explorer.request")}</summary>
      <${ExplorerForm} running=${isRunning(state)} planOf=${planOf} onBegin=${begin} />
    </details>
    ${state !== null && html`<${Progress} state=${state} />`}
    ${state?.finding && html`<${Finding} finding=${state.finding} />`}
    ${state !== null && !isRunning(state) && !state.finding && html`<${Nothing} state=${state} />`}
    <${CrashPoints} scenario=${calmView.value.scenario} isWork />
  </div>`;
}

/** @param {{ state: Picture.WholeSearch }} props */
function Progress({ state }) {
  const running = isRunning(state);
  const figures = [t("lab.explorer.schedules", { n: state.schedules })];
  const rate = state.search_seconds > 0 ? state.schedules / state.search_seconds : 0;
  if (rate) figures.push(t("unit.rate", { n: Math.round(rate) }));
  if (state.planned > 1)
    figures.push(
      t(state.max_crashes || state.max_losses ? "lab.explorer.depth_mixed" : "lab.explorer.depth", {
        n: state.depth,
        done: state.done,
        planned: state.planned,
      }),
    );
  if (rate && state.phase === "searching")
    figures.push(t("word.time_left", { time: span(((state.planned - state.done) / rate) * 1_000_000) }));
  if (state.seconds) figures.push(span(state.seconds * 1_000_000));
  const share = running ? (state.planned ? state.done / state.planned : 0) : 1;
  return html`<section class="explorer-progress" aria-live="polite">
    <div class="button-row explorer-bar">
      <progress max="1" value=${share} aria-label=${t("lab.explorer.progress")}></progress>
      ${running && html`<${Button} onClick=${cancel}>${t("word.cancel")}</${Button}>`}
    </div>
    <p class="number">${figures.join(" · ")}</p>
    <p class="quiet">
      ${t(`lab.explorer.phase_${state.phase}`)} ${running && state.schedules > 0 ? t("lab.explorer.in_stage") : ""}
    </p>
  </section>`;
}

/** What is enough, by its kind; a paused process counts as a stall. */
const FOUND = { hold: "lab.explorer.found", crash: "lab.explorer.found_crash", loss: "lab.explorer.found_loss" };

/** @param {{ finding: Picture.Finding }} props */
function Finding({ finding }) {
  const { violation, holds, link, end_link: endLink, later } = finding;
  const now = view.value.time_us;
  const kinds = new Set(holds.map(({ kind }) => (kind in FOUND ? kind : "hold")));
  const title = t(kinds.size > 1 ? "lab.explorer.found_mixed" : FOUND[[...kinds][0] ?? "hold"], { n: holds.length });
  const isNow = (hold) => now >= hold.time_us && (hold.ms === 0 || now < hold.time_us + hold.ms * 1000);
  return html`<section class="explorer-finding">
    <h3><span class="badge badge-bad">${anomalyName(violation.anomaly)}</span> ${title}</h3>
    <p>${bilingual(violation.text)}</p>
    ${
      holds.length === 0
        ? html`<p>${t("lab.explorer.by_itself")}</p>`
        : html`<ol class="explorer-holds">
          ${holds.map(
            (hold) => html`<li key=${`${hold.actor} ${hold.event}`} aria-current=${isNow(hold) ? "step" : undefined}>
              <span class="button-row">
                <span class="number quiet">${virtualTime(hold.time_us)} s</span>${" "}
                <span class="chip">
                  ${hold.kind === "hold" ? hold.actor : hold.actor.split("/")[0].replace("->", " → ")}
                </span>
                <span class=${hold.kind === "crash" || hold.kind === "loss" ? "badge badge-bad" : "badge"}>
                  ${t(`lab.explorer.kind_${hold.kind}`)}
                </span>${" "}
                ${
                  hold.kind === "loss"
                    ? html`<span class="chip mono">${bilingual(hold.label)}</span>`
                    : html`<span class="badge">
                        ${hold.ms === 0 ? t("lab.explorer.forever") : span(hold.ms * 1000)}
                      </span>`
                }
              </span>
              <span>${bilingual(hold.caption)}</span>
              ${bilingual(hold.meanwhile) && html`<span class="quiet">${bilingual(hold.meanwhile)}</span>`}
            </li>`,
          )}
        </ol>`
    }
    ${later.map(
      (one) =>
        html`<p key=${`${one.checker} ${one.event}`}>
          <strong>${t("lab.explorer.later")}</strong> ${bilingual(one.text)}
        </p>`,
    )}
    <div class="button-row explorer-ways">
      <${Button} class="button button-primary" onClick=${() => replayTo(link, violation.event)}>
        <${Icon} name="play" /><span>${t("lab.explorer.replay")}</span>
      </${Button}>
      <${Button} onClick=${() => run.openLink(endLink)}>${t("lab.explorer.to_end")}</${Button}>
    </div>
    <p class="quiet">${t("lab.explorer.replay_hint")}</p>
  </section>`;
}

/** @param {{ state: Picture.WholeSearch }} props */
function Nothing({ state }) {
  if (state.error) return html`<p class="panel-note">${bilingual(state.error)}</p>`;
  if (state.phase !== "done")
    return html`<p class="panel-note">
      ${t(state.phase === "failed" ? "lab.explorer.failed" : "lab.explorer.was_cancelled")}${" "}
      ${state.depth > 0 && t("lab.explorer.got_to", { n: state.depth - 1 })}
    </p>`;
  const isOrder = state.is_order && !state.max_losses;
  const all = isOrder ? "lab.explorer.all_run" : "lab.explorer.all_run_sound";
  const outcome = state.is_complete ? all : state.unconfirmed ? "lab.explorer.unconfirmed" : "lab.explorer.incomplete";
  return html`<section class="explorer-finding">
    <h3>${t("word.nothing_found")}</h3>
    <p>
      ${t(outcome, {
        n: state.schedules,
        stalls: state.max_stalls,
        crashes: state.max_crashes,
        losses: state.max_losses,
        from: state.from_us / 1e6,
        to: state.to_us / 1e6,
      })}
    </p>
    ${state.why && html`<p>${bilingual(state.why)}</p>`}
  </section>`;
}
