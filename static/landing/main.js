// @ts-check
// The start page: the demonstration, and a small live picture of the running broker, fed by the same stream as the live
// page.

import { html, render } from "htm/preact";
import { useComputed } from "@preact/signals";
import "../common/chrome.js";
import { elementOf } from "../common/elements.js";
import { compact, count } from "../common/format.js";
import { t } from "../common/i18n.js";
import { topicMark } from "../common/palette.js";
import { openStream } from "../common/cluster/stream.js";
import {
  addresses,
  glassmqCommand,
  groupNames,
  storedMessages,
  totalLag,
  userTopics,
} from "../common/cluster/lists.js";
import { isLagging, queueIds } from "../common/topics.js";
import { loaded, receive, state } from "../common/cluster/view.js";
import { Command, GroupMark, LanguageBadge } from "../parts/lane/marks.js";
import { Demonstration } from "./demonstration.js";

const NodeCommand = () => html`<${Command} text=${glassmqCommand("send orders 'hello'")} />`;

const MOST_RECORDS = 9;
const MOST_TOPICS = 4;
const MOST_CLIENTS = 4;

const stream = openStream((next, extra) => {
  receive(next, extra);
  for (const place of document.querySelectorAll("[data-name-server]")) {
    if (next.cluster?.name_server) place.textContent = next.cluster.name_server;
  }
});

function MiniPicture() {
  return html`
    <header class="mini-head">
      <span class=${`mini-state mini-is-${stream.status.value}`}>${t(`connection.${stream.status.value}`)}</span>
      <strong>${state.value.cluster.broker_name}</strong> <code>${state.value.cluster.broker_address}</code>
    </header>
    <div class="mini-picture"><${Clients} /><${MiniBroker} /><${MiniGroups} /></div>
    ${
      loaded.value &&
      userTopics.value.length === 0 &&
      html`<p class="mini-next">${t("live.producers.none_next")} <${NodeCommand} /></p>`
    }
    <${Figures} />
  `;
}

function Clients() {
  const clients = useComputed(() =>
    Object.values(state.value.connections).filter((client) => !client.role?.includes("consumer")),
  );
  const rest = clients.value.length - MOST_CLIENTS;
  return html`<div class="mini-side">
    <h2>${t("live.producers.title")}</h2>
    ${clients.value.slice(0, MOST_CLIENTS).map(
      (client) => html`<p class="mini-client">
        <${LanguageBadge} language=${client.language} />
        <span class="ellipsis">${client.producer_groups?.[0] ?? ""}</span>
      </p>`,
    )}
    ${rest > 0 && html`<p class="quiet">${t("word.more", { n: rest })}</p>`}
    ${loaded.value && clients.value.length === 0 && html`<p class="quiet">${t("live.producers.gone")}</p>`}
  </div>`;
}

function MiniBroker() {
  const records = state.value.commit_log.records.slice(-MOST_RECORDS);
  return html`<a class="mini-broker" href="/live" aria-label=${t("landing.to_live")}>
    <span class="mini-label">${t("commit_log.title")}</span>
    <span class="mini-strip">
      ${records.map(
        (record) =>
          html`<span key=${record.offset} class=${`mini-block tone-${topicMark(record.topic).tone}`}>
            ${topicMark(record.topic).code}
          </span>`,
      )}
      ${loaded.value && records.length === 0 && html`<span class="quiet">${t("landing.no_messages")}</span>`}
    </span>
    <span class="mini-label">${t("word.topics_and_queues")}</span>
    ${userTopics.value.slice(0, MOST_TOPICS).map((topic) => html`<${MiniTopic} key=${topic} topic=${topic} />`)}
    ${
      userTopics.value.length > MOST_TOPICS &&
      html`<span class="quiet">${t("word.more", { n: userTopics.value.length - MOST_TOPICS })}</span>`
    }
  </a>`;
}

/** A topic as one bar per queue, as high as the logarithm of what the queue holds.
    @param {{ topic: string }} props */
function MiniTopic({ topic }) {
  const queues = useComputed(() => state.value.topics[topic]?.queues ?? {});
  const held = queueIds(queues.value).map((id) => queues.value[id].max - queues.value[id].min);
  /** @param {number} stored */
  const height = (stored) => 3 + 2.1 * Math.min(9, Math.log10(1 + Math.max(0, stored)) + (stored > 0 ? 1 : 0));
  return html`<span class=${`mini-topic tone-${topicMark(topic).tone}`}>
    <span class="topic-mark">${topicMark(topic).code}</span><span class="ellipsis">${topic}</span>
    <svg width=${Math.min(16, held.length) * 7} height="24" aria-hidden="true">
      ${held
        .slice(0, 16)
        .map(
          (stored, index) =>
            html`<rect x=${index * 7} y=${24 - height(stored)} width="5" height=${height(stored)} rx="1" />`,
        )}
    </svg>
    <span class="number">${compact(held.reduce((sum, stored) => sum + stored, 0))}</span>
  </span>`;
}

function MiniGroups() {
  const rest = groupNames.value.length - MOST_CLIENTS;
  return html`<div class="mini-side">
    <h2>${t("word.consumer_groups")}</h2>
    ${groupNames.value.slice(0, MOST_CLIENTS).map(
      (group) => html`<p key=${group} class="mini-client">
        <${GroupMark} group=${group} />
        <span class="ellipsis">${group}</span>${" "}
        <span class=${`number ${isLagging(state.value.groups[group].lag) ? "has-lag" : "quiet"}`}>
          ${compact(state.value.groups[group].lag)}
        </span>
      </p>`,
    )}
    ${rest > 0 && html`<p class="quiet">${t("word.more", { n: rest })}</p>`}
    ${loaded.value && groupNames.value.length === 0 && html`<p class="quiet">${t("live.consumers.none")}</p>`}
  </div>`;
}

function Figures() {
  /** @type {(name: string, value: string, unit: string) => any} */
  const figure = (name, value, unit) =>
    html`<div class="mini-figure" data-figure=${name}>
      <dt>${t(`live.metrics.${name}`)}</dt>
      <dd><span class="number">${value}</span> <span class="unit">${unit}</span></dd>
    </div>`;
  const { in_messages: into, out_messages: out } = state.value.rates;
  /** @param {string} text */
  const known = (text) => (loaded.value ? text : "–");
  return html`<dl class="mini-figures">
    ${figure("stored", known(compact(storedMessages.value)), t("unit.messages"))}
    ${figure("in", known(compact(into ?? 0)), t("unit.per_second"))}
    ${figure("out", known(compact(out ?? 0)), t("unit.per_second"))}
    ${figure("lag", known(compact(totalLag.value)), t("unit.messages"))}
    ${figure("clients", known(count(addresses.value.length)), "")}
  </dl>`;
}

render(html`<${NodeCommand} />`, elementOf("node-command"));
for (const [id, Part] of Object.entries({ "demonstration-place": Demonstration, "mini-place": MiniPicture })) {
  const place = document.getElementById(id);
  if (place === null) continue; // there is no broker to show
  place.replaceChildren();
  render(html`<${Part} />`, place);
}
