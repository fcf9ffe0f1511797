// @ts-check
// Topics and groups by broker: the queues of each topic with their offsets, the lag of each group.

import { html } from "htm/preact";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { TopicMark } from "../../../parts/lane/marks.js";
import { Panel } from "../../../parts/panel/panel.js";
import { ScrollingTable } from "../../../parts/panel/table.js";
import { report } from "./asking.js";
import { roleOf } from "./brokers.js";

/** A topic with more queues is folded. */
const QUEUES_OPEN = 8;

export function BrokerTopics() {
  return html`<${Matrix}
    id="broker-topics"
    part="topics"
    row=${(/** @type {string} */ topic) => html`<${TopicMark} topic=${topic} /> ${topic}`}
    cell=${(/** @type {Picture.BrokerTopic} */ topic) => html`<${Queues} topic=${topic} />`}
  />`;
}

export function BrokerGroups() {
  return html`<${Matrix}
    id="broker-groups"
    part="groups"
    row=${(/** @type {string} */ group) => group}
    cell=${(/** @type {number | null} */ lag) =>
      lag === null
        ? html`<span class="quiet">${t("live.brokers.broadcasts")}</span>`
        : html`<span class=${lag > 0 ? "number delay-waiting" : "number"}>${count(lag)}</span>`}
  />`;
}

/**
 * @param {object} props
 * @param {string} props.id
 * @param {"topics" | "groups"} props.part
 * @param {(name: string) => any} props.row
 * @param {(value: any) => any} props.cell
 */
function Matrix({ id, part, row, cell }) {
  const brokers = (report.value?.brokers ?? []).filter(({ facts }) => facts);
  const names = [...new Set(brokers.flatMap(({ facts }) => Object.keys(facts?.[part] ?? {})))].sort();
  if (names.length === 0) return null;
  const titles = brokers.map((broker) => `${broker.name} ${roleOf(broker)}`);
  const heads = [
    part === "topics" ? "field.topic" : "field.group",
    ...brokers.map((broker) => ({
      text: html`${broker.name} <span class="quiet">${roleOf(broker)}</span>`,
      "data-state": broker.state,
    })),
  ];
  return html`<${Panel} id=${id} title=${t(`live.brokers.${part}_title`)}>
    <${ScrollingTable} of=${id} kind="broker-matrix" columns=${heads}>
      ${names.map(
        (name) => html`<tr key=${name} data-row=${name}>
          <th scope="row">${row(name)}</th>
          ${brokers.map(({ address, state, facts }, index) => {
            const value = facts?.[part][name];
            return html`<td key=${address} data-state=${state} data-column=${titles[index]}>
              ${value === undefined ? html`<span class="quiet">–</span>` : cell(value)}
            </td>`;
          })}
        </tr>`,
      )}
    </${ScrollingTable}>
  </${Panel}>`;
}

/** @param {{ topic: Picture.BrokerTopic }} props */
function Queues({ topic: { messages, queues, omitted_queues: omitted } }) {
  return html`<details open=${queues.length <= QUEUES_OPEN}>
    <summary>
      ${t("live.brokers.topic", { queues: queues.length + omitted, messages: count(messages), n: messages })}
    </summary>
    <ul class="queue-bounds" role="list">
      ${queues.map(
        ({ queue_id: id, min, max }) => html`<li key=${id}>
          <span class="quiet">${id}:</span> <span class="number">${count(min)}–${count(max)}</span>
        </li>`,
      )}
      ${omitted > 0 && html`<li class="quiet">${t("word.more", { n: omitted })}</li>`}
    </ul>
  </details>`;
}
