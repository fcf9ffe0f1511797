// @ts-check
// A real client or broker of a recording: its name, the number of its frames and, of a broker of the test kit, what it
// held at this frame.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";
import { shortMs } from "../../common/world/format.js";
import { NodeCard } from "./node_card.js";

/** Parts of the state. Their texts are the names of their columns; the first is that of the row. */
const PARTS = ["topics", "queues", "groups", "offsets", "half_messages", "locks", "held_pulls"];

export const WireNode = memo(({ name, node }) => {
  const said = `${t("lab.wire.sent", { n: node.sent })}, ${t("lab.wire.received", { n: node.got })}`;
  const [isRunning, aheadMs] = node.state.broker?.[""] ?? [1, 0];
  return html`<${NodeCard} name=${name} node=${node} summary=${said}>
    <p class="node-line mono">${node.full_name}</p>
    <p class="node-line quiet number">${said}</p>
    ${!isRunning && html`<p class="node-line">${t("lab.wire.crashed")}</p>`}
    ${aheadMs > 0 && html`<p class="node-line">${t("lab.wire.ahead", { time: shortMs(aheadMs) })}</p>`}
    ${PARTS.map(
      (part) => html`<${Rows} key=${part} columns=${t(`lab.wire.state.${part}`)} rows=${node.state[part]} />`,
    )}
  </${NodeCard}>`;
});

/** @param {{ columns: string, rows?: Record<string, (number | string)[]> }} props */
function Rows({ columns, rows = {} }) {
  const names = Object.keys(rows).sort();
  if (!names.length) return null;
  return html`<table class="wire-state">
    <thead>
      <tr>${columns.split("|").map((column) => html`<th scope="col">${column}</th>`)}</tr>
    </thead>
    <tbody>
      ${names.map(
        (row) =>
          html`<tr key=${row}>
            <th scope="row" class="mono">${row}</th>
            ${rows[row].map((value) => html`<td class="number">${value}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;
}
