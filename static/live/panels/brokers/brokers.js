// @ts-check
// All brokers that the name servers know, next to each other, each as it reports itself: the same figures in the same
// places. One that does not answer is grey and keeps its last figures.

import { html } from "htm/preact";
import { bytes, clockTime, compact, count, span } from "../../../common/format.js";
import { language, t } from "../../../common/i18n.js";
import { Panel } from "../../../parts/panel/panel.js";
import { problem, report, useAsking } from "./asking.js";

const ROLES = ["ASYNC_MASTER", "SYNC_MASTER", "SLAVE", "LEADER"];
const OMITTED = /** @type {const} */ (["omitted_brokers", "omitted_topics", "omitted_groups"]);

/** The role in words, as far as the broker reported one. @param {Picture.BrokerReport} broker */
export function roleOf({ id, facts }) {
  const role = ROLES.find((one) => one === facts?.role) ?? (id === 0 ? "master" : "SLAVE");
  return t(`live.brokers.role_${role}`, { id, term: facts?.term });
}

export function Brokers() {
  useAsking();
  const known = report.value;
  const hint = t(known ? "live.brokers.hint" : "live.brokers.asking");
  return html`<${Panel} id="brokers" title=${t("live.brokers")} hint=${hint}>
    ${problem.value && html`<p class="panel-note problem-text" role="alert">${problem.value}</p>`}
    ${Object.entries(known?.name_servers ?? {}).map(
      ([address, why]) =>
        why &&
        html`<p key=${address} class="panel-note problem-text" role="alert">
          ${t("live.brokers.name_server_silent", { address, why: why[language] })}
        </p>`,
    )}
    <ul class="broker-cards" role="list">
      ${known?.brokers.map((broker) => html`<${Card} key=${broker.address} broker=${broker} now=${known.now_us} />`)}
    </ul>
    ${OMITTED.map(
      (name) =>
        known &&
        known[name] > 0 &&
        html`<p key=${name} class="panel-note quiet">${t(`live.brokers.${name}`, { n: known[name] })}</p>`,
    )}
  </${Panel}>`;
}

/** @param {{ broker: Picture.BrokerReport, now: number }} props */
function Card({ broker, now }) {
  const { name, address, page, is_own: isOwn, state, since_us: since, why, facts } = broker;
  return html`<li class="broker-card" data-broker=${address} data-state=${state}>
    <h3>
      ${page && !isOwn ? html`<a href=${`${page}/live?tab=brokers`}>${name}</a>` : name}
      <span class="badge">${roleOf(broker)}</span>
      ${isOwn && html`<span class="badge">${t("live.brokers.here")}</span>`}
    </h3>
    ${
      state !== "answers" &&
      html`<p class="broker-state" role="status">
          ${t(`live.brokers.${state}`, { time: clockTime(since), why: why?.[language] })}
        </p>
        ${facts && html`<p class="quiet">${t("live.brokers.last_figures")}</p>`}`
    }
    <dl>
      ${rowsOf(broker, now).map(
        ([row, value]) => html`<div key=${row} data-figure=${row}>
          <dt>${t(`live.brokers.${row}`)}</dt>
          <dd>${value}</dd>
        </div>`,
      )}
    </dl>
  </li>`;
}

/**
 * The figures of a card, in order; only the address of a broker that has never answered.
 *
 * @param {Picture.BrokerReport} broker
 * @param {number} now
 * @returns {[string, any][]}
 */
function rowsOf({ address, facts, state }, now) {
  /** @type {[string, any]} */
  const first = ["address", html`<code>${address}</code>`];
  if (!facts) return [first];
  return [
    first,
    ["version", versionOf(facts)],
    ["runs_for", state === "answers" ? span((now - facts.started_us) / 1000) : "–"],
    ["in_rate", `${compact(facts.in_rate)}/s`],
    ["out_rate", `${compact(facts.out_rate)}/s`],
    ["messages", count(facts.messages)],
    ["stored", bytes(facts.commit_log.max - facts.commit_log.min)],
    ["log_end", count(facts.commit_log.max)],
    ["clients", count(facts.clients)],
    ["held_pulls", count(facts.held_pulls)],
    ["replicated", html`<${Replicas} facts=${facts} />`],
  ];
}

/** "V4_9_8" -> "4.9.8" @param {Picture.BrokerFacts} facts */
function versionOf({ is_glassmq: isGlassMQ, version }) {
  return t(`live.brokers.version_${isGlassMQ ? "glassmq" : "rocketmq"}`, {
    version: version.replace(/^V/, "").replaceAll("_", "."),
  });
}

/** What a master's slaves or a leader's followers have confirmed; of a slave, whether it follows. */
function Replicas({
  facts: {
    replicas,
    replicas_needed: needed,
    commit_log: { max },
    following,
  },
}) {
  if (following) return t(`live.brokers.${following === "follows" ? "follows" : "follows_not"}`);
  const names = Object.entries(replicas);
  if (names.length === 0 && needed === 0) return "–";
  return html`<ul role="list">
    ${names.map(
      ([name, confirmed]) => html`<li key=${name}>
        <code>${name}</code> ${confirmed < 0 ? "–" : count(confirmed)}
        ${confirmed >= 0 && confirmed < max && html` <span class="delay-waiting">−${bytes(max - confirmed)}</span>`}
      </li>`,
    )}
    <li class="quiet">${t("live.brokers.replicas_needed", { n: needed })}</li>
  </ul>`;
}
