// The stage: every node with what it holds, and the links between them. It fits itself; on a phone it is one column.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { Broker } from "../../nodes/broker.js";
import { Consumer } from "../../nodes/consumer.js";
import { NameServer } from "../../nodes/name_server.js";
import { Producer } from "../../nodes/producer.js";
import { ResourceManager, TransactionCoordinator, TransactionManager } from "../../nodes/xa.js";
import { WireNode } from "../../nodes/wire_node.js";
import { accused, nodes, nodesOfRole } from "../../view.js";
import { shape } from "../controls/dock.js";
import { Flights } from "./flights.js";
import { stageScale } from "./folding.js";
import { Legend } from "./legend.js";
import { fits, keepFitting, mapOf } from "./map.js";

const CARDS = {
  producer: Producer,
  name_server: NameServer,
  broker: Broker,
  consumer: Consumer,
  transaction_coordinator: TransactionCoordinator,
  transaction_manager: TransactionManager,
  resource_manager: ResourceManager,
  wire_producer: WireNode,
  wire_broker: WireNode,
  wire_consumer: WireNode,
};

/** `children` lie over the stage: captions, banners. `isWhole`: on a phone too it is a map that shows everything. */
export function Stage({ children, isWhole = false }) {
  const outer = useRef(null);
  const inner = useRef(null);
  const map = useRef(null);
  const isMap = isWhole || shape.value !== "phone";
  useEffect(() => {
    if (!isMap) {
      inner.current.style.transform = "";
      stageScale.value = 1;
      return followTheEye((card) => card.scrollIntoView({ block: "center" }));
    }
    map.current = mapOf(outer.current, inner.current);
    map.current.fit();
    const stops = [keepFitting(outer.current, inner.current, map.current), followTheEye(map.current.show)];
    return () => (stops.forEach((stop) => stop()), map.current.stop());
  }, [isMap]);
  return html`<div class="stage-frame">
    <section
      class=${`lab-stage ${isMap ? "is-map" : ""}`}
      id="stage"
      tabindex="0"
      aria-label=${t("lab.stage.title")}
      ref=${outer}
    >
      <div class="lab-stage-inner" ref=${inner}>
        <${Flights} stage=${inner} />
        <${Column} roles=${["producer", "transaction_manager", "wire_producer"]} name="producer" />
        <${Column} roles=${["broker", "transaction_coordinator", "name_server", "wire_broker"]} name="broker" />
        <${Column} roles=${["consumer", "resource_manager", "wire_consumer"]} name="consumer" />
      </div>
    </section>
    ${isMap && html`<${MapTools} map=${map} />`}${children}
  </div>`;
}

/** What is accused comes into view, by `show(card)`. */
const followTheEye = (show) =>
  accused.subscribe((names) => {
    const [first] = names;
    const card = first && document.querySelector(`#stage [data-node="${CSS.escape(first)}"]`);
    if (card) show(card);
  });

function MapTools({ map }) {
  const tool = (name, sign, act) =>
    html`<button
      type="button"
      class="button icon-button small-button"
      id=${`map-${name}`}
      onClick=${act}
      title=${t(`lab.map.${name}`)}
      aria-label=${t(`lab.map.${name}`)}
    >
      ${sign}
    </button>`;
  return html`<div class="map-tools" role="group" aria-label=${t("lab.map.title")}>
    ${tool("out", "−", () => map.current.zoom(-1))}
    <span class="number quiet map-scale">${Math.round(stageScale.value * 100)} %</span>
    ${tool("in", "+", () => map.current.zoom(1))}
    ${!fits.value && tool("fit", "⤢", () => map.current.fit())}
    <${Legend} />
  </div>`;
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
