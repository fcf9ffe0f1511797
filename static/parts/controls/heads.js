// @ts-check
// The heads of a table's columns.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";

/**
 * @param {object} properties
 * @param {(string | [key: string, kind?: string, hint?: string])[]} properties.columns The keys of their texts; their
 *   class, the key of a hint.
 * @param {any} [properties.children] Heads before these.
 */
export const Heads = ({ columns, children }) =>
  html`<thead>
    <tr>
      ${children}
      ${columns.map((column) => {
        const [key, kind, hint] = typeof column === "string" ? [column] : column;
        return html`<th scope="col" key=${key} class=${kind} title=${hint && t(hint)}>${t(key)}</th>`;
      })}
    </tr>
  </thead>`;
