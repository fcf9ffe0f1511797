// @ts-check
// The fields of a frame as a tree, down to single numbers: what a leaf names is marked among the bytes, and the other
// way round. {name, value, position (-1: it was packed), length, children, omitted} of a frame of Kafka.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../common/i18n.js";
import { Button } from "../controls/button.js";

/** How many levels are open at first. */
const OPEN_LEVELS = 4;

/** The leaves in the order of their bytes, as the hex dump wants its fields; a leaf is found by its place there. */
export function leavesOf(fields) {
  const leaves = [];
  const visit = (field) => {
    if (field.children.length > 0) field.children.forEach(visit);
    else if (field.length > 0 && field.position >= 0)
      leaves.push({ name: field.name, start: field.position, length: field.length, field });
  };
  fields.forEach(visit);
  return leaves;
}

/** `chosen`: a signal with the place of the leaf that is marked, `cursor`: with the byte that was clicked; or null. */
export const FrameTree = ({ fields, leaves, level = 0, ...marks }) => html`<ul class="frame-tree">
  ${fields.map(
    (field, index) => html`<li key=${index}>
      ${
        field.children.length > 0
          ? html`<details open=${level < OPEN_LEVELS}>
              <summary><${Words} field=${field} /></summary>
              <${FrameTree} fields=${field.children} leaves=${leaves} level=${level + 1} ...${marks} />
              ${field.omitted > 0 && html`<p class="quiet">${t("word.more", { n: field.omitted })}</p>`}
            </details>`
          : html`<${Leaf} field=${field} leaves=${leaves} ...${marks} />`
      }
    </li>`,
  )}
</ul>`;

function Leaf({ field, leaves, chosen, cursor }) {
  const element = useRef(/** @type {any} */ (null));
  const place = leaves.findIndex((leaf) => leaf.field === field);
  // A byte was clicked: its field comes into sight.
  useEffect(
    () =>
      cursor.subscribe((byte) => {
        if (byte === null || byte < field.position || byte >= field.position + field.length) return;
        for (let up = element.current.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
        element.current.scrollIntoView({ block: "nearest" });
      }),
    [field],
  );
  const choose = () => place >= 0 && (chosen.value = place);
  return html`<${Button}
    ref=${element} class=${`frame-leaf ${place >= 0 && chosen.value === place ? "is-chosen" : ""}`} onClick=${choose}
    onFocus=${choose} onPointerEnter=${choose}
  >
    <${Words} field=${field} />
  </${Button}>`;
}

const Words = ({ field }) => html`
  <span class="mono frame-field-name">${field.name}</span>
  <span class="mono frame-field-value">${field.value}</span>
  ${field.position >= 0 && html`<span class="quiet number">${field.position}+${field.length}</span>`}
`;
