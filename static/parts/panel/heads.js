// @ts-check
// The heads of a table's columns.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";

/**
 * The key of its text, with its class and the key of a hint; or the text itself and properties of the element.
 *
 * @typedef {string | [key: string, kind?: string, hint?: string] | { text: any, [property: string]: any }} Column
 */

/** @param {{ columns: Column[], children?: any }} properties `children`: heads before these. */
export const Heads = ({ columns, children }) =>
  html`<thead>
    <tr>
      ${children}
      ${columns.map((column, index) => {
        const { text, ...rest } = headOf(column);
        return html`<th scope="col" key=${index} ...${rest}>${text}</th>`;
      })}
    </tr>
  </thead>`;

/** @param {Column} column @returns {{ text: any, [property: string]: any }} */
function headOf(column) {
  if (typeof column === "string") return { text: t(column) };
  if (!Array.isArray(column)) return column;
  const [key, kind, hint] = column;
  return { text: t(key), class: kind, title: hint && t(hint) };
}
