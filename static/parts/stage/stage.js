// @ts-check
// The stage: every node with what it holds, and the links between them. It fits itself; on a phone it is one column.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { computed, useComputed } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { Broker } from "../nodes/broker.js";
import { Consumer } from "../nodes/consumer.js";
import { NameServer } from "../nodes/name_server.js";
import { Producer } from "../nodes/producer.js";
import { ResourceManager, TransactionCoordinator, TransactionManager } from "../nodes/xa.js";
import { WireNode } from "../nodes/wire_node.js";
import { KafkaBroker } from "../nodes/kafka/broker.js";
import { KafkaConsumer } from "../nodes/kafka/consumer.js";
import { KafkaController } from "../nodes/kafka/controller.js";
import { KafkaProducer } from "../nodes/kafka/producer.js";
import { RaftClient } from "../nodes/raft/client.js";
import { RaftPeer } from "../nodes/raft/peer.js";
import { Database } from "../nodes/work/database.js";
import { Redis } from "../nodes/work/redis.js";
import { Service } from "../nodes/work/service.js";
import { accused, nodes, nodesOfRole } from "../../common/world/view.js";
import { Button } from "../controls/button.js";
import { shape } from "../controls/dock.js";
import { Icon } from "../controls/icons.js";
import { Flights } from "./flights.js";
import { density, focus, stageScale } from "./folding.js";
import { Legend } from "./legend.js";
import { fits, keepFitting, mapOf } from "./map.js";
import { canPresent, presenting, togglePresentation } from "./presentation.js";

const CARDS = {
  producer: Producer,
  name_server: NameServer,
  broker: Broker,
  consumer: Consumer,
  transaction_coordinator: TransactionCoordinator,
  transaction_manager: TransactionManager,
  resource_manager: ResourceManager,
  database: Database,
  redis: Redis,
  service: Service,
  kafka_producer: KafkaProducer,
  kafka_broker: KafkaBroker,
  kafka_consumer: KafkaConsumer,
  kafka_controller: KafkaController,
  raft_peer: RaftPeer,
  raft_client: RaftClient,
  wire_producer: WireNode,
  wire_broker: WireNode,
  wire_consumer: WireNode,
};

const CALLERS = ["producer", "kafka_producer", "raft_client", "transaction_manager", "wire_producer"];
const SERVERS = [
  "name_server",
  "transaction_coordinator",
  "broker",
  "kafka_controller",
  "kafka_broker",
  "raft_peer",
  "wire_broker",
];
const STORES = ["database", "redis", "service"];
const hasStores = computed(() => STORES.some((role) => nodesOfRole[role].value.length > 0));

/** Arrow keys go from one node to the next. */
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** `children` cover the stage: banners. `title` is what a presentation has above it. `isFilm`: on a phone others see to
    what is in view. */
export function Stage({ children, title = null, isFilm = false }) {
  const outer = useRef(/** @type {any} */ (null));
  const inner = useRef(/** @type {any} */ (null));
  const map = useRef(/** @type {any} */ (null));
  const isMap = shape.value !== "phone";
  useEffect(() => {
    if (!isMap) {
      inner.current.removeAttribute("style");
      delete inner.current.dataset.density;
      density.value = 0;
      stageScale.value = 1;
      if (isFilm) return;
      return followTheEye((card) => card.scrollIntoView({ block: "center" }));
    }
    map.current = mapOf(outer.current, inner.current);
    map.current.fit();
    const stops = [keepFitting(outer.current, map.current), followTheEye(map.current.show)];
    return () => (stops.forEach((stop) => stop()), map.current.stop());
  }, [isMap]);
  const walk = (event) => {
    const cards = [...inner.current.querySelectorAll(".node")];
    const [at, by] = [cards.indexOf(event.target), STEPS[event.key]];
    const next = at < 0 || by === undefined ? undefined : cards[at + by];
    if (!next || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    next.focus({ preventScroll: isMap });
    if (isMap) map.current.show(next);
  };
  return html`<div class="stage-frame">
    <section
      class=${`lab-stage ${isMap ? "is-map" : ""}`}
      id="stage"
      tabindex="0"
      aria-label=${t("lab.stage.title")}
      ref=${outer}
      onKeyDown=${walk}
    >
      <div class="lab-stage-inner" ref=${inner} data-focus=${[...focus.value].join(" ")}>
        <${Flights} stage=${inner} />
        <${Column} roles=${CALLERS} name="producer" />
        <${Column} roles=${SERVERS} name="broker" />
        <${Column} roles=${["resource_manager", "consumer", "kafka_consumer", "wire_consumer"]} name="consumer" />
        ${hasStores.value && html`<${Column} roles=${STORES} name="store" />`}
      </div>
    </section>
    <div class="map-tools" role="group" aria-label=${t("lab.map.title")}>
      ${presenting.value && title}
      ${isMap && html`<${MapTools} map=${map} />`}
      <${Legend} />
      ${canPresent && html`<${Present} />`}
    </div>
    ${children}
  </div>`;
}

/** The element of a violation comes into view, by `show(card)`. */
const followTheEye = (show) =>
  accused.subscribe((names) => {
    const [first] = names;
    const card = first && document.querySelector(`#stage [data-node="${CSS.escape(first)}"]`);
    if (card) show(card);
  });

function Present() {
  const name = t(presenting.value ? "lab.present.leave" : "lab.present.start");
  return html`<${Button}
    class="button small-button" id="present" aria-pressed=${presenting.value} onClick=${togglePresentation}
    title=${`${name} (f)`}
  >
    <${Icon} name="present" />${t("lab.present.title")}
  </${Button}>`;
}

function MapTools({ map }) {
  const tool = (name, sign, act) =>
    html`<${Button}
      class="button icon-button small-button" id=${`map-${name}`} onClick=${act} label=${t(`lab.map.${name}`)}
    >
      ${sign}
    </${Button}>`;
  return html`
    ${tool("out", "−", () => map.current.zoom(-1))}
    <span class="number quiet map-scale">${Math.round(stageScale.value * 100)} %</span>
    ${tool("in", "+", () => map.current.zoom(1))}
    ${!fits.value && tool("fit", "⤢", () => map.current.fit(true))}
  `;
}

function Column({ roles, name: column }) {
  const names = roles.flatMap((role) => nodesOfRole[role].value.map((name) => [role, name]));
  const lines = names.filter(([role]) => role === "name_server").length;
  return html`<div class=${`column column-${column}`} style=${{ "--lines": lines || null }}>
    ${names.map(([role, name]) => html`<${Node} key=${name} role=${role} name=${name} />`)}
  </div>`;
}

/** Renders when this node's part of the view is another object, and not otherwise. */
function Node({ role, name }) {
  const node = useComputed(() => nodes.value[name]);
  return node.value && html`<div class=${`slot slot-${role}`}><${CARDS[role]} name=${name} node=${node.value} /></div>`;
}
