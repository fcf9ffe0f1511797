// @ts-check
// The rail at the left of the stage: connections that produce, by name and rate. A connection that consumes as well
// stands on both sides; it is one TCP connection all the same.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { clientVersion, count, span } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { ClientSign, nameOf } from "../../client_name.js";
import { Bolt } from "../../faults/bolt.js";
import { brokerClock } from "../../../common/cluster/clock.js";
import { addresses } from "../../../common/cluster/lists.js";
import { loaded, state } from "../../../common/cluster/view.js";
import { SendCommand } from "../nothing_yet.js";
import { Frames, MOST_CARDS, More } from "./clients.js";
import { Empty, LanguageBadge, TopicMark } from "../../../parts/lane/marks.js";

export function Producers() {
  const connections = state.value.connections;
  const consumes = (address) => connections[address]?.role?.includes("consumer");
  const produces = (address) => connections[address]?.role?.includes("producer");
  // Whoever is neither (mqadmin, a client that has not said yet) stands on the left too.
  const listed = addresses.value.filter((address) => produces(address) || !consumes(address));
  return html`<div class="stage-column producers" aria-labelledby="producers-title">
    <h2 class="panel-title" id="producers-title">
      ${t("live.producers.title")} <span class="quiet number">${count(listed.length)}</span>
    </h2>
    <ul class="client-list" role="list" tabindex="0" aria-labelledby="producers-title">
      ${listed.slice(0, MOST_CARDS).map((address) => html`<${ProducerCard} key=${address} address=${address} />`)}
      <${More} n=${Math.max(0, listed.length - MOST_CARDS) + (state.value.omitted.connections ?? 0)} />
    </ul>
    ${loaded.value && listed.length === 0 && html`<${NoProducers} />`}
  </div>`;
}

/** Senders that have left: this many, and for this long after their last message. */
const MOST_RECENT = 3;
const RECENT_MS = 600_000;

/** Nobody is connected. Many senders connect for one message only: then the newest records tell of them. */
function NoProducers() {
  const tail = useComputed(() => state.value.commit_log.records);
  const last = tail.value.at(-1);
  if (!last) {
    return html`<${Empty} title=${t("live.producers.gone")}>
      <p>${t("live.producers.none_next")}</p><${SendCommand} />
    </${Empty}>`;
  }
  const ageMs = (record) => (brokerClock.now() - record.stored_us) / 1000;
  const senders = new Map(tail.value.map((record) => [record.born_host, record])); // each with its last record
  const gone = [...senders.values()]
    .filter((record) => !(record.born_host in state.value.connections) && ageMs(record) < RECENT_MS)
    .sort((a, b) => b.offset - a.offset);
  return html`<${Empty} title=${t("live.producers.gone")}>
    <p>${t("live.producers.gone_next", { ago: span(ageMs(last)) })}</p>
    ${
      gone.length > 0 &&
      html`
        <p>${t("live.producers.recent")}</p>
        <ul class="recent-senders" role="list">
          ${gone.slice(0, MOST_RECENT).map(
            (record) =>
              html`<li key=${record.born_host}>
                <span class="client-id">${record.born_host}</span>${" "}
                <${TopicMark} topic=${record.topic} />${" "}
                <span class="number">${t("live.producers.ago", { ago: span(ageMs(record)) })}</span>
              </li>`,
          )}
          ${gone.length > MOST_RECENT && html`<li>${t("word.more", { n: gone.length - MOST_RECENT })}</li>`}
        </ul>
      `
    }
    <p>${t("live.producers.another")}</p><${SendCommand} />
  </${Empty}>`;
}

function ProducerCard({ address }) {
  const client = useComputed(() => state.value.connections[address]).value;
  if (!client) return null;
  const groups = client.producer_groups;
  const name = groups[0] ?? t(client.role.includes("admin") ? "live.clients.admin" : "live.clients.unnamed");
  const id = client.client_ids[0] ?? address;
  const version = t("live.clients.version", { version: clientVersion(client.version) });
  const hint = [...new Set([...groups, id, address, version])].join("\n");
  return html`<li class="card client" data-link=${`producer ${address}`} title=${hint}>
    <strong class="client-group">
      <${ClientSign} id=${id} /> ${name}${groups.length > 1 && html`<span class="quiet"> +${groups.length - 1}</span>`}
    </strong>
    <${LanguageBadge} language=${client.language} />
    <${Frames} address=${address} client=${client} directions=${["in"]} />
    <${Bolt} kind="client" facts=${{ client: id, name: nameOf(id) }} name=${nameOf(id)} />
  </li>`;
}
