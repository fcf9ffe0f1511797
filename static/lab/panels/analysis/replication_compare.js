// The same fault for every policy of replication: a table that was computed before (glassmq lab replication-compare).
// A table for each fault, a row for each policy, which leads to its run shortly before the fault.

import { html } from "htm/preact";
import { language, t } from "../../../common/i18n.js";
import { bilingual } from "../../format.js";
import { openLink } from "../../session.js";

const SCENARIO = "replication-compare";
export const FILE = `/static/lab/comparisons/${SCENARIO}.json`;

/** What is counted in each cell, besides what is lost and how long sending is impossible. */
const COUNTED = ["acknowledged", "duplicates", "on_one_machine", "in_doubt"];
const EXPORTED = ["policy", "fault", "acknowledged", "lost", "unavailable_ms", "is_back", ...COUNTED.slice(1)];

const whole = new Intl.NumberFormat(language);
const seconds = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** `table`: {policies, faults, cells, searches}, or undefined while it is loading. */
export function ReplicationCompare({ table }) {
  if (!table || table === "missing") return null;
  return html`<p class="quiet">${t("lab.same_fault.about")}</p>
    <div class="compare-tables">
      ${Object.keys(table.faults).map((fault) => html`<${Fault} key=${fault} fault=${fault} table=${table} />`)}
      <${Searches} table=${table} />
    </div>
    <p class="replication-export">
      <a href=${FILE} download>${t("lab.same_fault.as_json")}</a>
      <a href=${`data:text/csv;charset=utf-8,${encodeURIComponent(csvOf(table))}`} download=${`${SCENARIO}.csv`}>
        ${t("lab.same_fault.as_csv")}
      </a>
    </p>`;
}

function Fault({ fault, table }) {
  return html`<table class="compare-table replication-compare">
    <caption><strong>${bilingual(table.faults[fault])}</strong></caption>
    <thead>
      <tr>
        <th scope="col">${t("lab.same_fault.policy")}</th>
        <th scope="col" title=${t("lab.same_fault.what_lost")}>${t("lab.sequence.lost")}</th>
        <th scope="col" title=${t("lab.same_fault.what_unavailable")}>${t("lab.same_fault.unavailable")}</th>
      </tr>
    </thead>
    <tbody>
      ${table.cells
        .filter((cell) => cell.fault === fault)
        .map((cell) => html`<${Cell} key=${cell.policy} cell=${cell} table=${table} />`)}
    </tbody>
  </table>`;
}

function Cell({ cell, table }) {
  const most = Math.max(...table.cells.map((one) => one.unavailable_ms));
  const [policy, fault] = [bilingual(table.policies[cell.policy]), bilingual(table.faults[cell.fault])];
  return html`<tr>
    <th scope="row">
      <${RunLink} link=${cell.link} title=${t("lab.same_fault.open", { policy, fault })}>${policy}<//>
      ${COUNTED.filter((name) => cell[name]).map(
        (name) =>
          html`<small key=${name} title=${t(`lab.same_fault.what_${name}`)}>
            ${t(`lab.same_fault.${name}`, { n: whole.format(cell[name]) })}
          </small>`,
      )}
    </th>
    <td class=${cell.lost ? "number replication-lost" : "number"}>
      ${cell.lost ? "✕ " : ""}${whole.format(cell.lost)}
    </td>
    <td>
      <span class="compare-figure number">
        ${
          cell.is_back
            ? t("span.seconds", { n: seconds.format(cell.unavailable_ms / 1000) })
            : t("lab.same_fault.to_the_end")
        }
      </span>
      <span class="compare-bar" aria-hidden="true">
        <span style=${{ width: `${(100 * cell.unavailable_ms) / most}%` }}></span>
      </span>
    </td>
  </tr>`;
}

function Searches({ table }) {
  return html`<table class="compare-table replication-searches">
    <caption>${t("lab.same_fault.searches")}</caption>
    <thead>
      <tr>
        <th scope="col">${t("lab.same_fault.policy")}</th>
        <th scope="col">${t("lab.same_fault.shortest")}</th>
        <th scope="col">${t("lab.same_fault.schedules")}</th>
      </tr>
    </thead>
    <tbody>
      ${table.searches.map(
        (search) => html`<tr key=${search.policy}>
          <th scope="row">${bilingual(table.policies[search.policy])}</th>
          <td>${search.faults ? html`<${Finding} search=${search} table=${table} />` : t("word.nothing_found")}</td>
          <td class="number">${whole.format(search.schedules)}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}

function Finding({ search, table }) {
  const before = search.before ? `${bilingual(table.faults[search.before])}; ` : "";
  return html`<${RunLink} link=${search.link} title=${t("lab.same_fault.open_finding")}>
    ${before}${t("lab.same_fault.finding", { n: search.lost, event: whole.format(search.events) })}
  <//>`;
}

/** A link like any other, which the page itself follows without loading again. */
function RunLink({ link, title, children }) {
  const follow = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openLink(link);
  };
  return html`<a href=${`/lab/${SCENARIO}#${link}`} title=${title} onClick=${follow}>
    ${children}
  </a>`;
}

const csvOf = (table) =>
  [EXPORTED, ...table.cells.map((cell) => EXPORTED.map((name) => cell[name]))]
    .map((row) => `${row.join(",")}\r\n`)
    .join("");
