// @ts-check
// The panel "Compare": the study of a scenario that was run once per value of a setting, or that of replication.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { computed } from "@preact/signals";
import { language, t } from "../../common/i18n.js";
import { isRecording } from "../../common/world/session.js";
import { calmView } from "../../common/world/view.js";
import { FILE, ReplicationCompare, SCENARIO } from "./replication_compare.js";
import { contentOf, load, Missing, RunLink, StudyTable } from "./study.js";

/** Scenario -> the comparisons that come with the page, each with the figures that show it. */
const COMPARISONS = {
  "batch-trade-offs": {
    "C1.pullBatchSize": ["pulls", "largest_pull", "pull_ms", "pulled_again", "per_second"],
    "C1.consumeMessageBatchMaxSize": ["calls", "threads_busy", "per_second", "consumed_again", "without_need"],
  },
};

const figure = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });

const fileOf = (scenario, assignment) => `/static/lab/comparisons/${scenario}.${assignment}.json`;

/** Whether there is anything to compare in the world that is shown. */
export const canCompare = computed(() => {
  const { scenario } = calmView.value;
  return (scenario in COMPARISONS || scenario === SCENARIO) && !isRecording();
});

export function Compare() {
  const { scenario } = calmView.value;
  const comparisons = Object.entries(COMPARISONS[scenario] ?? {});
  const isOfReplication = scenario === SCENARIO;
  const files = isOfReplication ? [FILE] : comparisons.map(([assignment]) => fileOf(scenario, assignment));
  useEffect(() => files.forEach(load), [scenario]);
  return html`<div class="compare">
    <${Missing} of=${files} study=${isOfReplication ? SCENARIO : "compare"} />
    ${
      isOfReplication
        ? html`<${ReplicationCompare} table=${contentOf(FILE)} />`
        : html`<p class="quiet">${t("lab.compare.about")}</p>
            <div class="compare-tables">
              ${comparisons.map(([assignment, names]) => tableOf(scenario, assignment, names))}
            </div>`
    }
  </div>`;
}

function tableOf(scenario, assignment, names) {
  const runs = contentOf(fileOf(scenario, assignment))?.runs;
  if (!runs) return null;
  const [node, setting] = assignment.split(".");
  const open = ({ value, link }) =>
    html`<${RunLink} scenario=${scenario} link=${link} title=${t("lab.compare.open", { setting, value })}>${value}<//>`;
  const figures = names.map((name) => {
    const most = Math.max(...runs.map((run) => run[name])) || 1;
    return {
      head: t(`lab.compare.col_${name}`),
      title: t(`lab.compare.what_${name}`),
      cell: (run) => figure.format(run[name]),
      bar: (run) => run[name] / most,
    };
  });
  const columns = [{ head: t("lab.compare.value"), cell: open }, ...figures];
  const caption = html`<strong>${node}</strong> <code>${setting}</code>`;
  return html`<${StudyTable} key=${assignment} caption=${caption} columns=${columns} rows=${runs} />`;
}
