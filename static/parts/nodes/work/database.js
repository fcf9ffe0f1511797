// @ts-check
// A database that listeners work with: the stock and the orders, the transactions that are open, the records of
// idempotence. While no process runs: what is on the disk.

import { html } from "htm/preact";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { span } from "../../../common/world/format.js";
import { outcomeName } from "../../../common/world/labels.js";
import { memo } from "../../../common/memo.js";
import { view } from "../../../common/world/view.js";
import { NodeCard } from "../node_card.js";
import { Part } from "../part.js";
import { keepsRoom } from "../room.js";
import { KeyRow, Rows } from "../rows.js";
import { Records } from "./records.js";

const MOST_ORDERS = 3;
const STATE_SIGNS = { writes: "✎", waits: "…", reads: "○" };

/** @type {(props: { name: string, node: Picture.DatabasePicture }) => any} */
export const Database = memo(({ name, node }) => {
  const part = node.database;
  return html`<${NodeCard}
    name=${name}
    node=${node}
    summary=${part?.stock && t("lab.work.stock_short", part.stock)}
    lasting=${part && html`<${Tables} part=${part} node=${name} />`}
  />`;
});

const Tables = memo(
  ({ part, node }) => html`
    <${Part}
      part="database"
      name=${t("lab.work.shop")} of=${node}
      class="work-part"
      keepsOpen=${part.twice > 0}
      summary=${
        part.stock &&
        html`<span class="work-stock" title=${t("lab.work.stock_hint", part.stock)}>
          <span class="quiet">${part.stock.item}</span>
          <strong class="number">${count(part.stock.left)}</strong>
          <span class="quiet number">${t("lab.work.of", { n: part.stock.opening })}</span>
          ${part.stock.version > 0 && html`<span class="badge number">v${part.stock.version}</span>`}
        </span>`
      }
    >
      <${Transactions} open=${part.open} />
      ${part.binlog && html`<${TwoLogs} logged=${part.binlog} />`}
      <${Rows}
        class="work-rows" label=${t("lab.work.orders")} most=${MOST_ORDERS} total=${part.order_count}
        rows=${part.orders.map((row) => html`<${Order} key=${row.key} row=${row} />`)}
      />
    </${Part}>
    <${Part}
      part="idempotence"
      name=${t("lab.work.records")} of=${node}
      class="work-part"
      summary=${html`<span class="number quiet">${count(part.record_count)}</span>`}
    >
      <${Records} rows=${part.records} more=${part.record_count} node=${node} label=${t("lab.work.records")} />
    </${Part}>
  `,
);

/** The newest transactions of redo log and binlog, and what recovery has decided about them. */
const TwoLogs = ({ logged }) =>
  html`<ul class="work-rows work-transactions" ref=${keepsRoom} aria-label=${t("lab.work.two_logs")}>
    ${logged.map(
      (one) => html`<li
        key=${one.xid}
        class=${`work-row ${one.state === "prepared" ? "is-waits" : ""}`}
        title=${t(`lab.work.two_logs_${one.is_in_binlog ? "in" : "out"}`, one)}
      >
        <strong class="number">XID ${one.xid}</strong>
        <span class="ellipsis">${outcomeName(one.state, "xid")}</span>
        <span class="quiet">
          ${t(one.is_in_binlog ? "lab.work.in_binlog" : "lab.work.not_in_binlog")}
          ${one.by_recovery && html` <span class="badge">${t("lab.work.by_recovery")}</span>`}
        </span>
      </li>`,
    )}
  </ul>`;

/** What was taken or noted without an order has no column for it. */
const statusOf = ({ status }) => (status === "taken" || status === "noted" ? t(`lab.work.${status}`) : status);

/** @param {{ row: Picture.Order }} props */
function Order({ row }) {
  const by = row.by.replaceAll(",", ", ");
  const text = t(row.is_open ? "lab.work.order_open" : "lab.work.order_hint", {
    ...row,
    status: statusOf(row),
    by: by || "–",
  });
  return html`<${KeyRow}
    of=${row.key} class=${`work-row ${row.is_open ? "is-open" : ""}`} data-order=${row.key} title=${text}
  >
    <span class="ellipsis">${row.key}<span class="sr-only"> ${text}</span></span>
    <span class="quiet ellipsis">${row.is_open ? t("lab.work.uncommitted") : statusOf(row)}</span>
    <span class="work-by">
      ${row.times > 1 && html`<span class="badge badge-bad number">×${row.times}</span> `}
      <span class="quiet">${by}</span>
    </span>
  </${KeyRow}>`;
}

/** Reads the time. Those that wait for the right to write are listed after the one that has it. */
/** @param {{ open: Picture.OpenSqlTransaction[] }} props */
function Transactions({ open }) {
  const now = view.value.time_us;
  return html`<ul class="work-rows work-transactions" ref=${keepsRoom} aria-label=${t("lab.work.transactions")}>
    ${open.map(
      (one) => html`<li
        key=${`${one.node} ${one.number} ${one.since_us}`}
        class=${`work-row is-${one.state}`}
        title=${`${t(`lab.work.transaction_${one.state}`, one)}\n${one.statement}`}
      >
        <span>
          <span aria-hidden="true">${STATE_SIGNS[one.state]}</span> ${" "}
          <strong>${one.node ?? t("lab.work.administrator")}</strong>
        </span>
        <span class="ellipsis">
          ${t(`lab.work.${one.state}`)}${" "}
          <span class="mono quiet">${one.statement.split(" ", 1)[0]}</span>
        </span>
        <span class="number quiet">${span(now - one.since_us)}</span>
      </li>`,
    )}
  </ul>`;
}
