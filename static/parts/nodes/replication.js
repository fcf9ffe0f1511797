// @ts-check
// A broker's copies: a master's slaves, each with how much of the log it has confirmed; a slave's view of its master.

import { html } from "htm/preact";
import { bytes, count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";
import { nodes } from "../../common/world/view.js";
import { Bar } from "../lane/bar.js";
import { slaveState } from "../log/slave_state.js";
import { Part } from "./part.js";

/** `part` is the view's, null for a broker that is alone; `end`: of its log. */
export const Replication = memo(({ part, end }) => {
  const isSlave = part.role === "SLAVE";
  const behind = Math.max(0, ...part.slaves.map((slave) => slave.behind_bytes));
  return html`<${Part}
    part="replication"
    name=${t("section.replication")}
    keepsOpen=${Boolean(part.problem)}
    summary=${html`<span class="quiet">${isSlave ? slaveState(part) : roleOf(part)}</span>
      ${behind > 0 && html`<span class="figure has-lag">${behindBy(behind)}</span>`}`}
  >
    ${
      isSlave
        ? html`<p class="quiet">${t("lab.replication.has", { end: count(end), id: part.broker_id })}</p>
            ${part.problem && html`<p class="has-lag">${part.problem}</p>`}`
        : html`<ul class="delay-rows">
            ${part.slaves.map((slave) => html`<${Slave} key=${slave.address} slave=${slave} end=${end} />`)}
          </ul>`
    }
    ${!isSlave && part.slaves.length === 0 && html`<p class="quiet">${t("lab.replication.none")}</p>`}
  </${Part}>`;
});

const behindBy = (n) => t("lab.replication.lag", { bytes: bytes(n) });

const roleOf = (part) =>
  part.role === "SYNC_MASTER" ? t("lab.replication.sync", { n: part.replicas_needed }) : t("lab.replication.async");

function Slave({ slave, end }) {
  const ip = slave.address.split(":")[0];
  const name = Object.keys(nodes.value).find((one) => nodes.value[one].ip === ip) ?? slave.address;
  const confirmed = Math.max(0, slave.acknowledged);
  const label = t("lab.replication.row", { name, confirmed: count(confirmed), end: count(end) });
  return html`<li class="delay-row" title=${label}>
    <span>${name}</span>
    <${Bar} left=${confirmed} whole=${end} label=${label} />
    <span class=${`number ${slave.behind_bytes ? "has-lag" : ""}`}>
      ${slave.behind_bytes ? behindBy(slave.behind_bytes) : t("lab.replication.all")}
    </span>
  </li>`;
}
