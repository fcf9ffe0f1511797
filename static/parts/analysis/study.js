// @ts-check
// Tables that were computed before (glassmq lab study NAME --json FILE); each row leads to its run.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { get } from "../../common/request.js";
import { t } from "../../common/i18n.js";
import { Heads } from "../panel/heads.js";
import { run } from "../../common/world/session.js";

/** File -> its content, once it was requested; "missing" when it is not available. */
const files = signal({});

export async function load(file) {
  if (files.peek()[file]) return;
  const { answer: content = "missing" } = await get(file);
  files.value = { ...files.peek(), [file]: content };
}

/** The content of a file; undefined while it is loading, or missing. */
export const contentOf = (file) => (files.value[file] === "missing" ? undefined : files.value[file]);

/** `study`: makes the files, one of which is not available. */
export const Missing = ({ of, study }) =>
  of.some((file) => files.value[file] === "missing") &&
  html`<p class="quiet">${t("lab.compare.missing", { command: `study ${study}` })}</p>`;

/**
 * `columns`: {head, cell(row)}, where wanted with the head's `title` and `style(row)`, a cell's class; `bar(row)` draws
 * a share of 1 below the figure, in the `tone` of a class. The first column is the heads of the rows.
 */
export function StudyTable({ caption, kind, columns, rows }) {
  return html`<table class=${`compare-table ${kind ?? ""}`}>
    <caption>${caption}</caption>
    <${Heads} columns=${columns.map(({ head, title }) => ({ text: head, title }))} />
    <tbody>
      ${rows.map(
        (row, number) =>
          html`<tr key=${number}>
            ${columns.map((column, place) =>
              place === 0
                ? html`<th scope="row">${column.cell(row)}</th>`
                : html`<td key=${column.head} class=${column.style?.(row)}>${figureOf(column, row)}</td>`,
            )}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function figureOf(column, row) {
  if (!column.bar) return column.cell(row);
  return html`<span class="compare-figure number">${column.cell(row)}</span>
    <span class="compare-bar" aria-hidden="true">
      <span class=${column.tone} style=${{ width: `${100 * column.bar(row)}%` }}></span>
    </span>`;
}

/** A link like any other, which the page itself follows without a reload. */
export function RunLink({ scenario, link, title, children }) {
  const follow = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    run.openLink(link);
  };
  return html`<a href=${`/lab/${scenario}#${link}`} title=${title} onClick=${follow}>${children}</a>`;
}
