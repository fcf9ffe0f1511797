// @ts-check
// A run that takes its time: it is started, watched and ended here; what it brought is drawn, and can be taken away.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { count } from "../common/format.js";
import { t } from "../common/i18n.js";
import { get, post } from "../common/request.js";
import { Button } from "../parts/controls/button.js";
import { Panel } from "../parts/panel/panel.js";
import { ScrollingTable } from "../parts/panel/table.js";
import { Plot } from "./plot.js";
import { save } from "./save.js";

/**
 * @typedef {Omit<Picture.StorageRun, "report"> & { report: Report | null }} RunState
 *
 * @typedef {object} Report As app/storage/runs/report.py writes it.
 * @property {import("./plot.js").RunPlot[]} plots
 * @property {Table[]} tables
 * @property {Fact[]} facts
 * @property {string} machine
 *
 * @typedef {{ name: string, columns: string[], rows: (number | string)[][] }} Table
 * @typedef {{ name: string, holds: boolean, values: Record<string, number> }} Fact What the figures say of a claim.
 */

const ASK_EVERY_MS = 700;

/** @param {{ kind: string }} props */
export function Run({ kind }) {
  const run = useSignal(/** @type {RunState | null} */ (null));
  const problem = useSignal(/** @type {string | null} */ (null));
  const address = `/api/storage/runs/${kind}`;
  /** @param {Awaited<ReturnType<typeof get>>} told */
  const tell = ({ answer, why }) => {
    problem.value = why ?? null;
    if (answer) run.value = answer;
  };
  useEffect(() => void get(address).then(tell), []);
  const isRunning = run.value?.phase === "running";
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => get(address).then(tell), ASK_EVERY_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  const report = run.value?.report;
  const head = html`
    <${Button}
      class="button button-primary" disabled=${isRunning || !run.value} onClick=${() => post(address).then(tell)}
    >
      ${t("storage.run.start")}
    </${Button}>
    ${isRunning && html`<${Button} onClick=${() => post(`${address}/cancel`).then(tell)}>${t("word.stop")}</${Button}>`}
    ${report && html`<${Exports} kind=${kind} report=${report} />`}
  `;
  return html`
    <${Panel} name="run" kind="storage-run" title=${t(`storage.run.${kind}`)} head=${head}>
      <div class="run-body">
        <p>${t(`storage.run.${kind}.text`)}</p>
        ${isRunning && html`<${Progress} run=${run.value} />`}
        ${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
        ${run.value && ENDINGS.includes(run.value.phase) && html`<p class="problem">${ending(run.value)}</p>`}
        <p class="sr-only" role="status">${run.value ? t(`storage.phase.${run.value.phase}`) : ""}</p>
      </div>
    </${Panel}>
    ${report && html`<${Facts} report=${report} />`}
    ${
      report &&
      html`<div class="storage-plots">
        ${report.plots.map((plot) => html`<${Plot} key=${plot.name} plot=${plot} />`)}
      </div>`
    }
    ${(report?.tables ?? []).map((table) => html`<${ReportTable} key=${table.name} table=${table} />`)}
  `;
}

/** Phases in which a run has not brought what it was started for. */
const ENDINGS = ["cancelled", "failed"];

/** @param {RunState} run */
const ending = ({ phase, error }) => t(`storage.phase.${phase}`) + (error ? ` ${error}` : "");

/** @param {{ run: RunState }} props */
function Progress({ run }) {
  return html`<div class="button-row run-progress">
    <progress max=${run.total} value=${run.number} aria-label=${t("storage.run.progress")}></progress>
    <span class="number">${t("word.step", { at: run.number + 1, of: run.total })}</span>
  </div>`;
}

/** @param {{ table: Table }} props */
function ReportTable({ table }) {
  /** @param {number | string} value */
  const cell = (value) => (typeof value === "number" ? rounded(value) : t(`storage.cell.${value}`));
  /** @param {number | string} value */
  const kind = (value) => (typeof value === "number" ? "number" : "");
  const name = `table-${table.name}`;
  const columns = table.columns.map((column, index) => [`storage.column.${column}`, kind(table.rows[0][index])]);
  return html`<${Panel} name=${name} heading="h3" title=${t(`storage.table.${table.name}`)}>
    <${ScrollingTable} of=${name} columns=${columns}>
      ${table.rows.map(
        (row, number) => html`<tr key=${number}>
          ${row.map((value, index) => html`<td key=${index} class=${kind(value)}>${cell(value)}</td>`)}
        </tr>`,
      )}
    <//>
  </${Panel}>`;
}

/** @param {{ kind: string, report: Report }} props */
function Exports({ kind, report }) {
  /** @type {(type: string, text: string) => any} */
  const button = (type, text) =>
    html`<${Button} class="button row-button" onClick=${() => save(`${kind}.${type}`, text)}>
      ${type.toUpperCase()}
    </${Button}>`;
  return html`<span class="run-exports">
    ${button("json", JSON.stringify(report, null, 2))}${button("csv", csvOf(report))}
  </span>`;
}

/** One line per point: plot, line, x, y. The names are the engine's own words, without commas.
    @param {Report} report */
function csvOf({ plots }) {
  const rows = plots.flatMap(({ name, lines }) =>
    Object.entries(lines).flatMap(([line, points]) => points.map(([x, y]) => [name, line, x, y].join(","))),
  );
  return ["plot,line,x,y", ...rows].join("\n");
}

/** What the figures say of a claim of the article.
    @param {{ report: Report }} props */
function Facts({ report: { facts, machine } }) {
  /** @param {Fact} fact */
  const values = (fact) =>
    Object.fromEntries(Object.entries(fact.values).map(([name, value]) => [name, rounded(value)]));
  return html`<ul class="panel run-facts">
    ${facts.map(
      (fact) => html`<li key=${fact.name}>
        <strong class=${fact.holds ? "good-text" : "problem-text"}>
          <span aria-hidden="true">${fact.holds ? "✓" : "✕"}</span>${" "}
          ${t(`storage.fact.${fact.name === "cold" ? "cold" : "claim"}.${fact.holds ? "holds" : "fails"}`)}
        </strong>${" "}
        ${t(`storage.fact.${fact.name}`, values(fact))}
      </li>`,
    )}
    <li class="quiet">${t("storage.run.machine", { machine })}</li>
  </ul>`;
}

/** @param {number} value */
const rounded = (value) =>
  value >= 100 || Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(2)));
