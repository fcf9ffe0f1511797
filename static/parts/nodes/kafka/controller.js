// @ts-check
// The controller of a Kafka cluster: which brokers live, and what it has decided of each partition.

import { html } from "htm/preact";
import { t } from "../../../common/i18n.js";
import { span } from "../../../common/world/format.js";
import { memo } from "../../../common/memo.js";
import { view } from "../../../common/world/view.js";
import { Bar } from "../../lane/bar.js";
import { NodeCard } from "../node_card.js";
import { Rule } from "../part.js";
import { PartitionName } from "./partition_name.js";
import { InSync } from "./replica.js";

/** @type {(props: { name: string, node: Picture.KafkaControllerPicture }) => any} */
export const KafkaController = memo(({ name, node }) => {
  const brokers = node.brokers ?? [];
  const live = brokers.filter((one) => one.heard_us !== null).length;
  return html`<${NodeCard}
    name=${name}
    node=${node}
    summary=${t("lab.kafka.controller_summary", { n: live, all: brokers.length })}
    lasting=${node.partitions && html`<${Decided} partitions=${node.partitions} />`}
  >
    <p class="rules"><${Rule} node=${name} part="sessions" label="broker.session.timeout.ms" /></p>
    <ul class="kafka-rows kafka-sessions" aria-label=${t("lab.kafka.sessions")} data-part="sessions">
      ${brokers.map((one) => html`<${Session} key=${one.name} broker=${one} whole=${node.session_us} />`)}
    </ul>
  </${NodeCard}>`;
});

/** Reads the time. */
/** @param {{ broker: Picture.BrokerSession, whole: number }} props */
function Session({ broker: { name, heard_us: heard }, whole }) {
  const left = heard === null ? 0 : Math.max(0, heard + whole - view.value.time_us);
  const text =
    heard === null ? t("lab.kafka.session_over", { name }) : t("lab.kafka.session", { name, time: span(left) });
  return html`<li class="kafka-row" title=${text}>
    <span>${name}</span>
    ${
      heard === null
        ? html`<span class="badge badge-bad">${t("lab.kafka.dead")}</span>`
        : html`<${Bar} left=${left} whole=${whole} label=${text} />`
    }
  </li>`;
}

const Decided = memo(
  ({ partitions }) => html`<section class="kafka-decided" aria-label=${t("lab.kafka.decided")} data-part="decided">
    ${partitions.map(
      (one) => html`<div
        class="kafka-log-head"
        key=${`${one.topic}-${one.partition}`}
        data-decided=${`${one.topic}@${one.partition}`}
      >
        <${PartitionName} topic=${one.topic} partition=${one.partition} />
        <span>${one.leader ? `★ ${one.leader}` : t("lab.kafka.state_offline")}</span>
        <span class="number quiet" title=${t("lab.kafka.epoch_hint")}>${t("lab.kafka.epoch", { n: one.epoch })}</span>
        <${InSync} isr=${one.isr} replicas=${one.replicas} />
      </div>`,
    )}
  </section>`,
);
