// @ts-check
// Topics and groups by broker: the queues of each topic with their offsets, the lag of each group.

import { html } from "htm/preact";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { TopicMark } from "../../../parts/lane/marks.js";
import { Panel } from "../../../parts/panel/panel.js";
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
  return html`<${Panel} id=${id} title=${t(`live.brokers.${part}_title`)}>
    <div class="table-scroll" tabindex="0" role="group" aria-labelledby=${`${id}-title`}>
      <table class="broker-matrix">
        <thead>
          <tr>
            <th scope="col">${t(part === "topics" ? "field.topic" : "field.group")}</th>
            ${brokers.map(
              (broker) => html`<th scope="col" key=${broker.address} data-state=${broker.state}>
                ${broker.name} <span class="quiet">${roleOf(broker)}</span>
              </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${names.map(
            (name) => html`<tr key=${name} data-row=${name}>
              <th scope="row">${row(name)}</th>
              ${brokers.map((broker) => {
                const value = broker.facts?.[part][name];
                return html`<td
                  key=${broker.address}
                  data-state=${broker.state}
                  data-column=${`${broker.name} ${roleOf(broker)}`}
                >
                  ${value === undefined ? html`<span class="quiet">–</span>` : cell(value)}
                </td>`;
              })}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
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
