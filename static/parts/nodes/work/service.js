// @ts-check
// A service behind calls: what it has done, which nothing rolls back, and how often.

import { html } from "htm/preact";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { memo } from "../../../common/memo.js";
import { NodeCard } from "../node_card.js";
import { Part } from "../part.js";
import { KeyRow, Rows } from "../rows.js";

const MOST_CALLS = 3;

/** @type {(props: { name: string, node: Picture.ServicePicture }) => any} */
export const Service = memo(({ name, node }) => {
  const part = node.service;
  return html`<${NodeCard}
    name=${name}
    node=${node}
    summary=${t("lab.work.calls", { n: part.call_count })}
    lasting=${html`<${Calls} part=${part} node=${name} />`}
  />`;
});

const Calls = memo(
  ({ part, node }) => html`<${Part}
    part="service"
    name=${t("lab.work.done")} of=${node}
    class="work-part"
    keepsOpen=${part.twice > 0}
    summary=${html`<span class="number quiet">${count(part.call_count)}</span>
      <span class="badge">${t(part.is_idempotent ? "lab.work.idempotent" : "lab.work.not_idempotent")}</span>`}
  >
    <${Rows}
      class="work-rows" label=${t("lab.work.done")} most=${MOST_CALLS}
      rows=${part.calls.map((row) => html`<${Call} key=${`${row.operation} ${row.key}`} row=${row} />`)}
    />
  </${Part}>`,
);

const Call = ({ row }) =>
  html`<${KeyRow} of=${row.key} class="work-row" title=${t("lab.work.call_hint", row)}>
    <span class="ellipsis">${row.key}</span><span class="quiet ellipsis">${row.operation}</span>
    <span class="work-by">
      ${row.times === 1 ? "✓" : html`<span class="badge badge-bad number">×${row.times}</span>`}
    </span>
  </${KeyRow}>`;
