// @ts-check
// A table that a job reported. Rows that are findings carry a sign of their own, not a colour alone.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { count, dateTime, milliseconds } from "../common/format.js";
import { language, t } from "../common/i18n.js";
import { Button } from "../parts/controls/button.js";
import { Panel } from "../parts/panel/panel.js";
import { ScrollingTable } from "../parts/panel/table.js";
import { bilingual } from "../common/world/format.js";

/** Rows before a button offers the rest. */
const MOST_ROWS = 40;
const LONG_TEXT = 24;
/** A path of this server or an address, and nothing that a browser would run. */
const LEADS_SOMEWHERE = /^(\/[^/]|https?:\/\/)/;
const locale = language === "zh" ? "zh-CN" : "en";
const number = new Intl.NumberFormat(locale, { maximumSignificantDigits: 4 });
const share = new Intl.NumberFormat(locale, { style: "percent", maximumSignificantDigits: 3 });
/** Kinds of columns with numbers: how one is written. @type {Record<string, (value: number) => string>} */
const NUMERIC = {
  integer: count,
  number: (value) => number.format(value),
  share: (value) => share.format(value),
  ms: milliseconds,
  timestamp: (value) => dateTime(value * 1000),
};

/** @param {{ table: Picture.ResultTable, result: Picture.ResultRows }} props */
export function ResultTable({ table, result }) {
  const isWhole = useSignal(false);
  const { rows, left_out: leftOut } = result;
  const bad = table.columns.findIndex((column) => column.name === table.bad_column);
  /** @param {Picture.ResultCell[]} row */
  const isBad = (row) => bad >= 0 && Number(row[bad]) > 0;
  const findings = rows.filter(isBad).length;
  const shown = isWhole.value ? rows : rows.slice(0, MOST_ROWS);
  const title = bilingual(table.title);
  const head =
    bad >= 0 &&
    (findings > 0
      ? html`<span class="badge badge-warning">${t("pipeline.findings", { n: findings })}</span>`
      : html`<span class="good-text">${t("pipeline.no_findings")}</span>`);
  const columns = table.columns.map((column) => ({
    text: bilingual(column.title),
    class: isNumeric(column) ? "number" : "",
  }));
  const lead =
    bad >= 0 && html`<th scope="col" class="bad-cell"><span class="sr-only">${t("pipeline.finding")}</span></th>`;
  const panel = { name: `table-${table.name}`, kind: "result", heading: "h3", title, head, "data-table": table.name };
  return html`<${Panel} ...${panel}>
    ${
      rows.length === 0
        ? html`<p class="empty">${t("pipeline.no_rows")}</p>`
        : html`<${ScrollingTable} label=${title} box="result-scroll" columns=${columns} lead=${lead}>
          ${shown.map(
            (row, index) => html`<tr key=${index} class=${isBad(row) ? "is-bad" : ""}>
              ${bad >= 0 && html`<td class="bad-cell">${isBad(row) && html`<${BadSign} />`}</td>`}
              ${table.columns.map(
                (column, at) =>
                  html`<td key=${column.name} class=${cellClass(column, wordOf(column, row[at]))}>
                    ${cellText(column, row[at])}
                  </td>`,
              )}
            </tr>`,
          )}
        </${ScrollingTable}>`
    }
    ${
      (shown.length < rows.length || leftOut > 0) &&
      html`<p class="result-more">
        ${
          shown.length < rows.length &&
          html`<${Button} onClick=${() => (isWhole.value = true)}>
            ${t("pipeline.show_all", { n: rows.length })}
          </${Button}>`
        }
        ${leftOut > 0 && html`<span class="quiet">${t("pipeline.left_out", { n: leftOut })}</span>`}
      </p>`
    }
  </${Panel}>`;
}

const BadSign = () =>
  html`<span class="bad-sign" role="img" aria-label=${t("pipeline.finding")} title=${t("pipeline.finding")}>▲</span>`;

/** @param {Picture.ResultColumn} column */
const isNumeric = (column) => column.kind in NUMERIC;
/** Long texts are broken, wherever that may be: names and ids would push the figures out of sight.
    @param {Picture.ResultColumn} column @param {Picture.ResultCell} value */
const cellClass = (column, value) =>
  isNumeric(column) ? "number" : column.kind !== "link" && String(value).length > LONG_TEXT ? "long-text" : "";

/** Words of the job's own, and sentences that come in both languages, in the page's; anything else as it is.
    @param {Picture.ResultColumn} column @param {Picture.ResultCell} value */
function wordOf({ cell_texts: texts }, value) {
  if (typeof value === "string" && Object.hasOwn(texts, value)) return bilingual(texts[value]);
  return typeof value === "object" && value !== null ? bilingual(value) : value;
}

/** @param {Picture.ResultColumn} column @param {Picture.ResultCell} value */
function cellText(column, value) {
  if (value === null) return html`<span class="quiet">–</span>`;
  if (isNumeric(column)) return typeof value === "number" ? NUMERIC[column.kind](value) : String(value);
  switch (column.kind) {
    case "link":
      return LEADS_SOMEWHERE.test(String(value))
        ? html`<a href=${value}>${bilingual(column.title)}</a>`
        : String(value);
    case "yes_no":
      return t(value ? "word.yes" : "word.no");
    default:
      return String(wordOf(column, value));
  }
}
