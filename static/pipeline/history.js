// @ts-check
// The runs, newest first: those that go on and the last ones that are over.

import { html } from "htm/preact";
import { dateTime } from "../common/format.js";
import { t } from "../common/i18n.js";
import { bilingual } from "../common/world/format.js";
import { Panel } from "../parts/panel/panel.js";
import { chosenRun, jobNamed, runList } from "./runs.js";

export function History() {
  const runs = runList.value;
  return html`<${Panel} name="history" title=${t("pipeline.history")}>
    ${
      runs.length === 0
        ? html`<p class="empty">${t("pipeline.no_runs")}</p>`
        : html`<ul class="run-list" role="list">
          ${runs.map(
            (run) => html`<li key=${run.id}>
              <a class="run-link" href=${`#run-${run.id}`} aria-current=${chosenRun.value === run.id ? "true" : null}>
                <${PhaseSign} phase=${run.phase} />
                <span class="run-name">${bilingual(jobNamed(run.job)?.title) || run.job}</span>
                <span class="number quiet">${dateTime(run.started_us)}</span>
              </a>
            </li>`,
          )}
        </ul>`
    }
  </${Panel}>`;
}

/** The phase by shape and word; colour only adds to it.
    @param {{ phase: string }} props */
export function PhaseSign({ phase }) {
  return html`<span class=${`phase phase-${phase}`}>
    <span class="phase-sign" aria-hidden="true"></span>${t(`pipeline.phase.${phase}`)}
  </span>`;
}
