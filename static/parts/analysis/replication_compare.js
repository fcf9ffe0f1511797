// @ts-check
// The study of replication: the same fault for every policy. A table for each fault, a row for each policy, which leads
// to its run shortly before the fault.

import { html } from "htm/preact";
import { language, t } from "../../common/i18n.js";
import { bilingual } from "../../common/world/format.js";
import { RunLink, StudyTable } from "./study.js";

export const SCENARIO = "replication-compare";
export const FILE = `/static/lab/comparisons/${SCENARIO}.json`;

/** What is counted in each cell, besides what is lost and how long sending is impossible. */
const COUNTED = ["acknowledged", "duplicates", "on_one_machine", "in_doubt"];
const EXPORTED = ["policy", "fault", "acknowledged", "lost", "unavailable_ms", "is_back", ...COUNTED.slice(1)];

const whole = new Intl.NumberFormat(language);
const seconds = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** `table`: {policies, faults, cells, searches}, or undefined while it is loading. */
export function ReplicationCompare({ table }) {
  if (!table) return null;
  return html`<p class="quiet">${t("lab.same_fault.about")}</p>
    <div class="compare-tables">
      ${Object.entries(table.faults).map(
        ([fault, name]) =>
          html`<${StudyTable}
            key=${fault}
            kind="replication-compare"
            caption=${html`<strong>${bilingual(name)}</strong>`}
            columns=${faultColumns(table)}
            rows=${table.cells.filter((cell) => cell.fault === fault)}
          />`,
      )}
      <${StudyTable}
        kind="replication-searches"
        caption=${t("lab.same_fault.searches")}
        columns=${searchColumns(table)}
        rows=${table.searches}
      />
    </div>
    <p class="replication-export">
      <a href=${FILE} download>${t("lab.same_fault.as_json")}</a>
      <a href=${`data:text/csv;charset=utf-8,${encodeURIComponent(csvOf(table))}`} download=${`${SCENARIO}.csv`}>
        ${t("lab.same_fault.as_csv")}
      </a>
    </p>`;
}

function faultColumns({ policies, faults, cells }) {
  const most = Math.max(...cells.map((one) => one.unavailable_ms));
  return [
    {
      head: t("lab.same_fault.policy"),
      cell: (cell) => {
        const [policy, fault] = [bilingual(policies[cell.policy]), bilingual(faults[cell.fault])];
        const title = t("lab.same_fault.open", { policy, fault });
        return html`<${RunLink} scenario=${SCENARIO} link=${cell.link} title=${title}>${policy}<//>
          ${COUNTED.filter((name) => cell[name]).map(
            (name) =>
              html`<small key=${name} title=${t(`lab.same_fault.what_${name}`)}>
                ${t(`lab.same_fault.${name}`, { n: whole.format(cell[name]) })}
              </small>`,
          )}`;
      },
    },
    {
      head: t("lab.sequence.lost"),
      title: t("lab.same_fault.what_lost"),
      cell: ({ lost }) => `${lost ? "✕ " : ""}${whole.format(lost)}`,
      style: ({ lost }) => (lost ? "number problem-text replication-lost" : "number"),
    },
    {
      head: t("lab.same_fault.unavailable"),
      title: t("lab.same_fault.what_unavailable"),
      cell: (cell) =>
        cell.is_back
          ? t("span.seconds", { n: seconds.format(cell.unavailable_ms / 1000) })
          : t("lab.same_fault.to_the_end"),
      bar: (cell) => cell.unavailable_ms / most,
    },
  ];
}

const searchColumns = ({ policies, faults }) => [
  { head: t("lab.same_fault.policy"), cell: (search) => bilingual(policies[search.policy]) },
  {
    head: t("lab.same_fault.shortest"),
    cell: (search) => {
      if (!search.faults) return t("word.nothing_found");
      const before = search.before ? `${bilingual(faults[search.before])}; ` : "";
      return html`<${RunLink} scenario=${SCENARIO} link=${search.link} title=${t("lab.same_fault.open_finding")}>
        ${before}${t("lab.same_fault.finding", { n: search.lost, event: whole.format(search.events) })}
      <//>`;
    },
  },
  {
    head: t("lab.same_fault.schedules"),
    cell: (search) => whole.format(search.schedules),
    style: () => "number",
  },
];

const csvOf = (table) =>
  [EXPORTED, ...table.cells.map((cell) => EXPORTED.map((name) => cell[name]))]
    .map((row) => `${row.join(",")}\r\n`)
    .join("");
