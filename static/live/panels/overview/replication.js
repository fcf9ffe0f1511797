// @ts-check
// The copies of this broker's log: a master's slaves with what each lacks, in bytes and in time;
// or what a slave follows.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { bytes, count, span } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { state } from "../../../common/cluster/view.js";
import { slaveState } from "../../../parts/log/slave_state.js";
import { Panel } from "../../../parts/panel/panel.js";
import { ScrollingTable } from "../../../parts/panel/table.js";

const COLUMNS = [
  "live.replication.slave",
  "word.state",
  "live.replication.confirmed",
  "live.lane.lag",
  "live.replication.since",
];

export function Replication() {
  const part = useComputed(() => state.value.replication).value;
  if (!part) return null;
  const isSlave = part.role === "SLAVE";
  const hint = t(`live.replication.${part.role}`, { n: part.replicas_needed, id: part.broker_id, term: part.term });
  return html`<${Panel} id="replication" title=${t("live.replication.title")} hint=${hint}>
    <div class="group-details">${isSlave ? html`<${Following} part=${part} />` : html`<${Slaves} part=${part} />`}</div>
  </${Panel}>`;
}

function Following({ part }) {
  return html`<p>
      ${slaveState(part)}
      ${part.silent_ms >= 0 && html` · ${t("live.replication.heard", { time: span(part.silent_ms) })}`}
    </p>
    ${part.problem && html`<p class="delay-waiting">${part.problem}</p>`}`;
}

function Slaves({ part }) {
  if (part.slaves.length === 0) return html`<p class="delay-waiting">${t("lab.replication.none")}</p>`;
  const caption = t("live.replication.title");
  return html`<${ScrollingTable} of="replication" kind="delay-table" caption=${caption} columns=${COLUMNS}>
    ${part.slaves.map(
      (slave) => html`<tr key=${slave.address}>
        <th scope="row" class="mono">${slave.address}</th>
        <td>${t(`live.replication.${slave.acknowledged < 0 ? "waits" : "sends"}`)}</td>
        <td class="number">${slave.acknowledged < 0 ? "–" : count(slave.acknowledged)}</td>
        <td class=${slave.behind_bytes ? "number delay-waiting" : "number quiet"}>${bytes(slave.behind_bytes)}</td>
        <td class="number">${slave.behind_ms ? span(slave.behind_ms) : t("lab.replication.all")}</td>
      </tr>`,
    )}
  <//>`;
}
