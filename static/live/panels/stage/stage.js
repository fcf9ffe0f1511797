// @ts-check
// The stage: producers, the broker as a glass box with its commit log and queues, consumer groups.

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { Bolt } from "../../faults/bolt.js";
import { Cover, isCovered } from "../../faults/cover.js";
import { loaded, state } from "../../../common/cluster/view.js";
import { slaveState } from "../../../parts/log/slave_state.js";
import { CommitLogStrip } from "./commit_log.js";
import { Consumers } from "./consumers.js";
import { Links } from "./links.js";
import { Producers } from "./producers.js";
import { Topics } from "./topics.js";

export function Stage() {
  const stage = useRef(null);
  return html`<section
    class=${`stage ${loaded.value ? "" : "is-waiting"}`}
    id="stage"
    ref=${stage}
    tabindex="-1"
    aria-label=${t("live.stage.title")}
  >
    <${Links} stage=${stage} />
    <${Producers} />
    <div class="broker">
      <div class="broker-parts" inert=${isCovered.value}><${BrokerHead} /><${CommitLogStrip} /><${Topics} /></div>
      <${Cover} />
    </div>
    <${Consumers} />
  </section>`;
}

// That it is one of several copies, and whether it has its others.
function Copies() {
  const part = useComputed(() => state.value.replication).value;
  if (!part) return null;
  const isSlave = part.role === "SLAVE";
  const isWell = isSlave ? part.waits_for === "follows" : part.slaves.length >= part.replicas_needed;
  const text = isSlave
    ? slaveState(part)
    : t(part.role === "LEADER" ? "live.replication.leads" : "live.replication.head", {
        role: part.role,
        term: part.term,
        n: part.slaves.length,
      });
  const looks = isWell ? "badge" : "badge badge-warning";
  return html`<a class=${looks} href="#replication" title=${t("live.replication.link")}>${text}</a>`;
}

function BrokerHead() {
  const name = useComputed(() => state.value.cluster.broker_name);
  const address = useComputed(() => state.value.cluster.broker_address);
  const nameServer = useComputed(() => state.value.cluster.name_server);
  const flush = useComputed(() => state.value.cluster.flush);
  const title = name.value ?? t("lab.role.broker");
  return html`<header class="broker-head">
    <h2 class="broker-name">${title} <${Bolt} kind="broker" facts=${{}} name=${title} /></h2>
    <code class="broker-fact" title=${t("live.stage.broker_address")}>${address}</code>
    <span class="broker-fact">
      <span class="quiet">${t("live.stage.name_server")}</span> <code>${nameServer}</code>
      <${Bolt} kind="name_server" facts=${{}} name=${t("live.stage.name_server")} />
    </span>
    ${
      flush.value &&
      html`<span class="badge" title=${t(`live.stage.flush_${flush.value}_hint`)}>
        ${t(`live.stage.flush_${flush.value}`)}
      </span>`
    }
    <${Copies} />
    <span class="legend" aria-hidden="true">
      <span class="legend-dot legend-in"></span>${t("faults.direction.in")}
      <span class="legend-dot legend-out"></span>${t("faults.direction.out")}
    </span>
  </header>`;
}
