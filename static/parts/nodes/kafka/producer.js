// @ts-check
// A Kafka producer: what was sent, the accumulator with a queue of batches for each partition, and the requests that
// are in flight.

import { html } from "htm/preact";
import { bytes, count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { span } from "../../../common/world/format.js";
import { memo } from "../../../common/memo.js";
import { view } from "../../../common/world/view.js";
import { Bar } from "../../lane/bar.js";
import { NodeCard } from "../node_card.js";
import { Part, Rule } from "../part.js";
import { Figures } from "../producer.js";
import { keepsRoom } from "../room.js";
import { PartitionName } from "./partition_name.js";

const MOST_BATCHES = 4;
const SIGNS = { full: "■", due: "▸" };

/** @type {(props: { name: string, node: Picture.KafkaProducerPicture }) => any} */
export const KafkaProducer = memo(({ name, node }) => {
  const summary = t("lab.producer.summary", { sent: node.sent ?? 0, acknowledged: node.acknowledged ?? 0 });
  return html`<${NodeCard} name=${name} node=${node} summary=${summary}>
    <${Figures} node=${node} />
    ${node.accumulator && html`<${Accumulator} name=${name} part=${node.accumulator} />`}
    ${node.requests && html`<${Requests} name=${name} node=${node} />`}
  </${NodeCard}>`;
});

const Accumulator = memo(
  ({ name, part }) => html`<${Part}
    part="accumulator"
    name=${t("lab.kafka.accumulator")}
    class="kafka-part"
    summary=${html`<span class="quiet number" title=${t("lab.kafka.buffer_hint")}>
      ${t("lab.kafka.buffer", { used: bytes(part.used_bytes), whole: bytes(part.memory_bytes) })}
    </span>`}
  >
    <ul class="kafka-rows" ref=${keepsRoom}>
      ${part.partitions.length === 0 && html`<li class="quiet">${t("lab.kafka.no_batches")}</li>`}
      ${part.partitions.map(
        (one) => html`<li key=${`${one.topic} ${one.partition}`} class="kafka-row">
          <${PartitionName} topic=${one.topic} partition=${one.partition} />
          <span class="kafka-batches">
            ${one.batches
              .slice(0, MOST_BATCHES)
              .map((batch, index) => html`<${WaitingBatch} key=${index} batch=${batch} part=${part} />`)}
            ${
              one.batches.length > MOST_BATCHES &&
              html`<span class="quiet number">+${one.batches.length - MOST_BATCHES}</span>`
            }
          </span>
        </li>`,
      )}
    </ul>
    <p class="rules">
      <${Rule} node=${name} part="linger" label="linger.ms" />
      <${Rule} node=${name} part="batch_size" label="batch.size" />
      <${Rule} node=${name} part="codec" label="compression.type" />
    </p>
  </${Part}>`,
);

/** Fills up to batch.size, and waits no longer than linger.ms. Reads the time. */
/** @param {{ batch: Picture.AccumulatedBatch, part: Picture.Accumulator }} props */
function WaitingBatch({ batch, part }) {
  const left = Math.max(0, batch.since_us + part.linger_us - view.value.time_us);
  const said = {
    n: batch.records,
    size: bytes(batch.size_bytes),
    whole: bytes(part.batch_bytes),
    left: span(left),
    attempts: batch.attempts,
  };
  const state = batch.attempts > 0 ? "again" : batch.is_closed ? "full" : left > 0 ? "lingers" : "due";
  const text = t(`lab.kafka.batch_${state}`, said);
  const share = Math.min(1, batch.size_bytes / Math.max(1, part.batch_bytes)).toFixed(3);
  return html`<span class=${`kafka-batch is-${state}`} title=${text} aria-label=${text} role="img">
    <span class="kafka-batch-fill" style=${{ transform: `scaleX(${share})` }}></span>
    <span class="number kafka-batch-count">${count(batch.records)}</span>
    ${state === "again" && html`<span class="attempt">×${batch.attempts + 1}</span>`}
    ${state === "lingers" && html`<${Bar} left=${left} whole=${part.linger_us} label=${text} />`}
    ${SIGNS[state] && html`<span class="kafka-sign">${SIGNS[state]}</span>`}
  </span>`;
}

const Requests = memo(
  ({ name, node: { requests, max_in_flight: most, producer_id: id } }) => html`<${Part}
    part="sender"
    name=${t("lab.kafka.in_flight")}
    class="kafka-part"
    summary=${html`
      <span class="quiet number" title=${t("lab.kafka.in_flight_hint")}>${requests.length} / ${most}</span>
      ${
        id >= 0 &&
        html`<span class="badge number" title=${t("lab.kafka.producer_id_hint", { id })}>id …${id % 10_000}</span>`
      }
    `}
    tools=${html`<${Rule} node=${name} part="in_flight" label=${t("lab.half.limit")} />`}
  >
    <ul class="chips kafka-chips" ref=${keepsRoom}>
      ${requests.map(
        (one) => html`<li key=${one.number} class="chip chip-flying" title=${requestText(one)}>
          <span class="mono">${one.name}</span>
          ${one.records > 0 && html`<span class="number">${count(one.records)}</span>`}
        </li>`,
      )}
    </ul>
  </${Part}>`,
);

const requestText = ({ number, records, since_us: since }) =>
  t("lab.kafka.request_hint", { n: number, records, time: since === null ? "–" : span(view.peek().time_us - since) });
