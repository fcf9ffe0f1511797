// One scenario, run once per value of a setting: tables that were computed before (glassmq lab compare); each row leads
// to its run, at the moment when the node started.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { computed, signal } from "@preact/signals";
import { sendRequest } from "../../../common/transport.js";
import { language, t } from "../../../common/i18n.js";
import { isRecording, openLink } from "../../session.js";
import { calmView } from "../../view.js";
import { FILE as OF_REPLICATION, ReplicationCompare } from "./replication_compare.js";

/** Scenario -> the comparisons that come with the page, each with the figures that show it. */
const COMPARISONS = {
  "batch-trade-offs": {
    "C1.pullBatchSize": ["pulls", "largest_pull", "pull_ms", "pulled_again", "per_second"],
    "C1.consumeMessageBatchMaxSize": ["calls", "threads_busy", "per_second", "consumed_again", "without_need"],
  },
};

const figure = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });

/** File -> its table, once it was requested; "missing" when it is not available. */
const tables = signal({});

const fileOf = (scenario, assignment) => `/static/lab/comparisons/${scenario}.${assignment}.json`;

/** Its table is of policies and faults, not of a setting's values. */
const isOfReplication = (scenario) => scenario === "replication-compare";

/** Whether there is anything to compare in the world that is shown. */
export const canCompare = computed(() => {
  const { scenario } = calmView.value;
  return (scenario in COMPARISONS || isOfReplication(scenario)) && !isRecording();
});

async function load(file) {
  if (tables.peek()[file]) return;
  const keep = (table) => (tables.value = { ...tables.peek(), [file]: table });
  try {
    const response = await sendRequest(file);
    keep(response.ok ? await response.json() : "missing");
  } catch {
    keep("missing");
  }
}

export function Compare() {
  const { scenario } = calmView.value;
  const comparisons = COMPARISONS[scenario] ?? {};
  const files = isOfReplication(scenario)
    ? [OF_REPLICATION]
    : Object.keys(comparisons).map((assignment) => fileOf(scenario, assignment));
  useEffect(() => files.forEach(load), [scenario]);
  const isMissing = files.some((file) => tables.value[file] === "missing");
  const missing = isMissing && html`<p class="quiet">${t("lab.compare.missing", { command: "compare" })}</p>`;
  if (isOfReplication(scenario))
    return html`<div class="compare">${missing}<${ReplicationCompare} table=${tables.value[OF_REPLICATION]} /></div>`;
  return html`<div class="compare">
    <p class="quiet">${t("lab.compare.about")}</p>
    ${missing}
    <div class="compare-tables">
      ${Object.entries(comparisons).map(
        ([assignment, figures]) =>
          html`<${Table}
            key=${assignment}
            assignment=${assignment}
            figures=${figures}
            table=${tables.value[fileOf(scenario, assignment)]}
          />`,
      )}
    </div>
  </div>`;
}

function Table({ assignment, figures, table }) {
  if (!table || table === "missing") return null;
  const most = Object.fromEntries(figures.map((name) => [name, Math.max(...table.runs.map((run) => run[name])) || 1]));
  const [node, setting] = assignment.split(".");
  return html`<table class="compare-table">
    <caption><strong>${node}</strong> <code>${setting}</code></caption>
    <thead>
      <tr>
        <th scope="col">${t("lab.compare.value")}</th>
        ${figures.map(
          (name) =>
            html`<th scope="col" key=${name} title=${t(`lab.compare.what_${name}`)}>
              ${t(`lab.compare.col_${name}`)}
            </th>`,
        )}
      </tr>
    </thead>
    <tbody>
      ${table.runs.map(
        (run) => html`<tr key=${run.value}>
          <th scope="row">
            <button
              type="button"
              class="link-button number"
              onClick=${() => openLink(run.link)}
              title=${t("lab.compare.open", { setting, value: run.value })}
            >
              ${run.value}
            </button>
          </th>
          ${figures.map(
            (name) =>
              html`<td key=${name}>
                <span class="compare-figure number">${figure.format(run[name])}</span>
                <span class="compare-bar" aria-hidden="true">
                  <span style=${{ width: `${(100 * run[name]) / most[name]}%` }}></span>
                </span>
              </td>`,
          )}
        </tr>`,
      )}
    </tbody>
  </table>`;
}
