// The stage: every node with what it holds, side by side, and the links between them.

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { Broker } from "../../nodes/broker.js";
import { Consumer } from "../../nodes/consumer.js";
import { NameServer } from "../../nodes/name_server.js";
import { Producer } from "../../nodes/producer.js";
import { ResourceManager, TransactionCoordinator, TransactionManager } from "../../nodes/xa.js";
import { nodes, nodesOfRole } from "../../view.js";
import { Flights } from "./flights.js";

const CARDS = {
  producer: Producer,
  name_server: NameServer,
  broker: Broker,
  consumer: Consumer,
  transaction_coordinator: TransactionCoordinator,
  transaction_manager: TransactionManager,
  resource_manager: ResourceManager,
};

export function Stage() {
  const stage = useRef(null);
  return html`<section class="lab-stage" id="stage" tabindex="0" aria-label=${t("lab.stage.title")}>
    <div class="lab-stage-inner" ref=${stage}>
      <${Flights} stage=${stage} />
      <${Column} roles=${["producer", "transaction_manager"]} name="producer" />
      <${Column} roles=${["name_server", "broker", "transaction_coordinator"]} name="broker" />
      <${Column} roles=${["consumer", "resource_manager"]} name="consumer" />
    </div>
  </section>`;
}

function Column({ roles, name: column }) {
  const names = roles.flatMap((role) => nodesOfRole[role].value.map((name) => [role, name]));
  return html`<div class=${`column column-${column}`}>
    ${names.map(([role, name]) => html`<${Node} key=${name} role=${role} name=${name} />`)}
  </div>`;
}

/** Renders when this node's part of the view is another object, and not otherwise. */
function Node({ role, name }) {
  const node = useComputed(() => nodes.value[name]);
  return node.value ? html`<${CARDS[role]} name=${name} node=${node.value} />` : null;
}
