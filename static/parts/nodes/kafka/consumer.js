// @ts-check
// A Kafka consumer: the way of a fetch from the request that is only built to the records that the application has,
// and the position and the committed offset of each partition.

import { html } from "htm/preact";
import { bytes, count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { memo } from "../../../common/memo.js";
import { pointing } from "../../../common/viewer/pointed.js";
import { accused } from "../../../common/world/view.js";
import { Heads } from "../../panel/heads.js";
import { NodeCard } from "../node_card.js";
import { Part, Rule } from "../part.js";
import { keepsRoom } from "../room.js";
import { PartitionName } from "./partition_name.js";

const MOST_KEYS = 6;
/** @type {[key: string, kind: string, hint: string][]} */
const COLUMNS = [
  ["lab.kafka.position", "", "lab.kafka.position_hint"],
  ["lab.outcome.committed", "", "lab.kafka.committed_hint"],
];

export const KafkaConsumer = memo(
  ({ name, node }) => html`<${NodeCard}
    name=${name}
    node=${node}
    summary=${t("lab.kafka.consumed", { n: node.consumed ?? 0 })}
    titleExtra=${html`<span class="node-group ellipsis quiet" title=${t("word.producer_group")}>${node.group}</span>`}
  >
    ${node.fetcher && html`<${Fetcher} name=${name} part=${node.fetcher} polled=${node.polled} />`}
    ${node.positions && html`<${Positions} rows=${node.positions} />`}
  </${NodeCard}>`,
);

/** @type {(props: { name: string, part: Picture.Fetcher, polled: Picture.Polled }) => any} */
const Fetcher = memo(({ name, part, polled }) => {
  const stage = (key, content) => html`<li class="kafka-stage" data-stage=${key} title=${t(`lab.kafka.${key}_hint`)}>
    <span class="mono quiet">${t(`lab.kafka.${key}`)}</span>
    <span class="chips">${content.length > 0 ? content : html`<span class="quiet">–</span>`}</span>
  </li>`;
  const request = (one) =>
    html`<span key=${one.number} class="chip chip-flying"><span class="mono">${one.name}</span></span>`;
  return html`<${Part}
    part="fetcher"
    name=${t("lab.kafka.fetcher")}
    class="kafka-part"
    summary=${html`<span class="quiet number" title=${t("lab.kafka.completed_hint")}>
      ${t("lab.kafka.fetched", { n: part.completed.reduce((sum, one) => sum + one.records_left, 0) })}
    </span>`}
    tools=${html`<${Rule} node=${name} part="poll" label="max.poll.records" />`}
  >
    <ol class="kafka-stages" ref=${keepsRoom}>
      ${stage("unsent", part.unsent.map(request))} ${stage("flying", part.in_flight.map(request))}
      ${stage(
        "completed",
        part.completed.map((one) => html`<${Completed} key=${`${one.topic}-${one.partition}`} one=${one} />`),
      )}
      ${stage("polled", keysOf(polled))}
    </ol>
  </${Part}>`;
});

/** An answer that has arrived and is not used up: its records are decoded as the application asks for them. */
const Completed = ({
  one,
}) => html`<span class="chip" title=${t("lab.kafka.completed_one", { ...one, size: bytes(one.size_bytes) })}>
  <${PartitionName} topic=${one.topic} partition=${one.partition} />
  <span class="number">${count(one.records_left)} / ${count(one.records)}</span>
</span>`;

const keysOf = ({ keys, count: all, at }) => [
  ...keys.slice(0, MOST_KEYS).map(
    (key) => html`<span
      key=${key}
      class=${`chip ${key === at ? "chip-call" : ""} ${accused.value.has(key) ? "is-accused" : ""}`}
      ...${pointing(key)}
    >
      ${key === at && html`<span class="call-sign"></span>`}${key}
    </span>`,
  ),
  ...(all > MOST_KEYS ? [html`<span key="more" class="quiet number">+${all - MOST_KEYS}</span>`] : []),
];

const Positions = memo(
  ({ rows }) => html`<${Part}
    part="positions"
    name=${t("lab.kafka.positions")}
    class="kafka-part"
    summary=${html`<span class="quiet number">${count(rows.length)}</span>`}
  >
    <table class="kafka-positions">
      <${Heads} columns=${COLUMNS}>
        <th scope="col"><span class="sr-only">${t("lab.kafka.partition")}</span></th>
      </${Heads}>
      <tbody>
        ${rows.map(
          (row) => html`<tr key=${`${row.topic}-${row.partition}`}>
            <th scope="row"><${PartitionName} topic=${row.topic} partition=${row.partition} /></th>
            <td class="number">${row.position === null ? "–" : count(row.position)}</td>
            <td class="number">${row.committed === null ? "–" : count(row.committed)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </${Part}>`,
);
