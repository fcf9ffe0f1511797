// @ts-check
// A table in a box that scrolls, by keyboard too.

import { html } from "htm/preact";
import { Heads } from "./heads.js";

/**
 * @param {object} properties
 * @param {string} [properties.of] What the id of the heading that names it begins with; else `label` is its name.
 * @param {string} [properties.label]
 * @param {string} [properties.kind] Classes of the table.
 * @param {string} [properties.caption] For those who hear it.
 * @param {import("./heads.js").Column[]} properties.columns
 * @param {any} [properties.lead] Heads before these.
 * @param {string} [properties.box] Further classes of the box.
 * @param {any} properties.children Its rows.
 */
export const ScrollingTable = ({ of, label, kind, caption, columns, lead, box = "", children }) =>
  html`<div
    class=${`table-scroll ${box}`} tabindex="0" role="group" aria-label=${label} aria-labelledby=${of && `${of}-title`}
  >
    <table class=${kind}>
      ${caption && html`<caption class="sr-only">${caption}</caption>`}
      <${Heads} columns=${columns}>${lead}<//>
      <tbody>${children}</tbody>
    </table>
  </div>`;
