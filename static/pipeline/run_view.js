// @ts-check
// One run: its state, its progress, its findings.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { compact, count, milliseconds } from "../common/format.js";
import { t } from "../common/i18n.js";
import { BatchPlots, JobPlots } from "./plots.js";
import { PhaseSign } from "./history.js";
import { wordsFor } from "./job_field.js";
import { ResultTable } from "./result_table.js";
import { bilingual } from "../common/world/format.js";
import { isOver, jobNamed, stop, wantsFocus } from "./runs.js";
import { RunProgress } from "./run_progress.js";
import { SparkLanes } from "./spark_lanes.js";
import { Button } from "../parts/controls/button.js";

/** @param {{ run: Picture.ShownRun }} props */
export function RunView({ run }) {
  const job = jobNamed(run.job);
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  // The button that was pressed is gone: keyboard users continue from the run's title.
  useEffect(() => {
    if (document.activeElement === document.body && wantsFocus.delete(run.id))
      title.current?.focus({ preventScroll: true });
  }, [run.phase]);
  if (!job) return null;
  /** @type {Record<string, Picture.ResultRows>} */
  const results = run.is_whole ? run.tables : {};
  const tables = job.tables.filter(({ name }) => results[name]);
  return html`
    <section class="panel run" aria-labelledby="run-title" data-phase=${run.phase}>
      <header class="panel-head">
        <h2 class="panel-title" id="run-title" tabindex="-1" ref=${title}>${bilingual(job.title)}</h2>
        <${PhaseSign} phase=${run.phase} />
        <${StopButton} run=${run} />
        ${isOver(run) && html`<a class="button again" href=${`#${run.job}`}>${t("pipeline.again")}</a>`}
      </header>
      <div class="run-body">
        ${run.origin && html`<p>${t("pipeline.origin")} <a href=${run.origin}>${t("pipeline.origin_back")}</a></p>`}
        <${RunProgress} run=${run} />
        <${State} run=${run} />
        <${Arguments} run=${run} />
        ${run.is_whole && html`<${Notes} notes=${run.notes} />`}
        ${run.is_whole && run.batches.length > 0 && html`<${Figures} run=${run} />`}
      </div>
    </section>
    ${
      run.is_whole &&
      html`
        <${JobPlots} job=${job} plots=${run.plots} />
        ${run.batches.length > 1 && html`<${BatchPlots} batches=${run.batches} />`}
      `
    }
    ${tables.map((table) => html`<${ResultTable} key=${table.name} table=${table} result=${results[table.name]} />`)}
    ${run.is_whole && Object.keys(run.reached).length > 0 && html`<${SparkLanes} run=${run} />`}
  `;
}

/** @param {{ run: Picture.ShownRun }} props */
function Arguments({ run }) {
  const given = Object.entries(run.arguments).filter(([, value]) => value !== null && value !== "");
  return html`<dl class="facts run-arguments">
    ${given.map(
      ([name, value]) => html`<div class="fact" key=${name}>
        <dt title=${name.replaceAll("_", "-")}>${wordsFor(name)}</dt>
        <dd>${typeof value === "boolean" ? t(value ? "word.yes" : "word.no") : String(value)}</dd>
      </div>`,
    )}
    <div class="fact"><dt>${t("pipeline.master")}</dt><dd><code>${run.master}</code></dd></div>
  </dl>`;
}

/** What went wrong, or its outcome: where the steps alone leave something open.
    @param {{ run: Picture.ShownRun }} props */
function State({ run }) {
  if (run.phase === "failed") {
    return html`<div class="problem run-error" role="alert">
      <p><strong>${t("pipeline.failed_because")}</strong></p><${Failure} failure=${run.failure} />
      ${run.log_file && html`<p class="quiet">${t("pipeline.log_file")} <code>${run.log_file}</code></p>`}
    </div>`;
  }
  return run.phase === "stopped" ? html`<p>${t("pipeline.stopped_hint")}</p>` : null;
}

/** What went wrong in the page's language, and below it what was said in English only.
    @param {{ failure: Picture.RunFailure | null }} props */
function Failure({ failure }) {
  if (!failure) return html`<p>${t("pipeline.no_reason")}</p>`;
  return html`
    <p class="run-error-text">${bilingual(failure.text)}</p>
    ${failure.detail && html`<p class="run-error-text"><code lang="en">${failure.detail}</code></p>`}
  `;
}

/** @param {{ run: Picture.ShownRun }} props */
function StopButton({ run }) {
  const problem = useSignal(/** @type {string | null} */ (null));
  if (isOver(run)) return null;
  return html`
    <${Button}
      class="button stop-button" disabled=${run.phase === "stopping"}
      onClick=${async () => (problem.value = await stop(run.id))}
    >
      <span class="toggle-sign" aria-hidden="true"></span>${t("word.stop")}
    </${Button}>
    ${problem.value && html`<span class="problem-text" role="alert">${problem.value}</span>`}
  `;
}

/** @param {{ notes: Picture.Words[] }} props */
function Notes({ notes }) {
  if (notes.length === 0) return null;
  return html`<ul class="run-notes" role="list">
    ${notes.map((note, index) => html`<li key=${index}>${bilingual(note)}</li>`)}
  </ul>`;
}

/** The last micro-batch in figures.
    @param {{ run: Picture.WholeRun }} props */
function Figures({ run }) {
  const last = /** @type {Picture.MicroBatch} */ (run.batches.at(-1));
  const busy = run.batches.findLast((batch) => Number(batch.rows) > 0) ?? last;
  /** @param {string} key @param {string} value */
  const figure = (key, value) =>
    html`<div class="figure"><dt>${t(`pipeline.figure.${key}`)}</dt><dd class="number">${value}</dd></div>`;
  /** @param {number | null} value */
  const rate = (value) => (value === null ? "–" : t("unit.rate", { n: compact(Math.round(value)) }));
  return html`<dl class="figures">
    ${figure("batches", count(run.batch_count))}${figure("rows", compact(run.row_count))}
    ${figure("input", rate(busy.input_rows_per_s))}${figure("processed", rate(busy.processed_rows_per_s))}
    ${figure("duration", milliseconds(last.total_ms))}${last.lag !== null && figure("lag", compact(last.lag))}
  </dl>`;
}
