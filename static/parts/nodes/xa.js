// @ts-check
// The nodes of a two-phase commit: the coordinator with its log, the manager, the banks with what they promised; and
// the roles (TC, TM, RM) that other nodes have in a transaction over several nodes.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { span } from "../../common/world/format.js";
import { outcomeName } from "../../common/world/labels.js";
import { memo } from "../../common/memo.js";
import { pointing } from "../../common/viewer/pointed.js";
import { view } from "../../common/world/view.js";
import { Bank } from "./bank.js";
import { CashMachine } from "./cash_machine.js";
import { NodeCard } from "./node_card.js";
import { Rule } from "./part.js";
import { newest, Rows } from "./rows.js";

const MOST_ENDED = 5;
const OUTCOME_SIGNS = { committed: "✓", "rolled-back": "✕", unknown: "?" };
const VOTE_SIGNS = { none: "·", yes: "✓", no: "✕", done: "●" };

export const TransactionCoordinator = memo(({ name, node }) => {
  const part = node.coordinator;
  return html`<${NodeCard} name=${name} node=${node}>
    ${
      part &&
      html`
        <p class="node-line" title=${t("lab.xa.log_hint")}>
          <span class="quiet">${t("section.log")}</span> <span class="number">${count(part.log.end)} B</span>
          ${
            part.log.flushed < part.log.end &&
            html`<span class="badge badge-warning number">
              ${t("lab.xa.not_flushed", { n: part.log.end - part.log.flushed })}
            </span>`
          }
          <span class="quiet number">${t("lab.xa.ended", { n: part.ended })}</span>
        </p>
        <${Rows}
          class="work-rows xa-rows" data-part="global-transactions"
          label=${t("lab.xa.open")} none=${t("lab.xa.none_open")}
          rows=${part.transactions.map((one) => html`<${Global} key=${one.xid} one=${one} />`)}
        />
        <p class="rules"><${Rule} node=${name} part="coordinator" label=${t("lab.xa.timeout")} /></p>
      `
    }
  </${NodeCard}>`;
});

const Global = ({ one }) =>
  html`<li class="work-row xa-row" ...${pointing(one.key)} title=${one.reason || one.key}>
    <span class="mono">${one.xid}</span>
    <span class=${`xa-state xa-${one.state}`}>${outcomeName(one.state, "global")}</span>
    <span class="xa-votes">
      ${one.branches.map(
        ({ resource, vote }) =>
          html`<span
            key=${resource} class=${`xa-vote xa-vote-${vote}`} title=${t(`lab.xa.vote_${vote}`, { node: resource })}
          >
            ${resource} <span aria-hidden="true">${VOTE_SIGNS[vote]}</span>
          </span>`,
      )}
    </span>
  </li>`;

export const TransactionManager = memo(({ name, node }) => {
  const { under_way: at, counts, ended, total } = node.manager ?? { counts: {}, ended: [], total: 0 };
  const figure = (outcome) =>
    html`<div
      class=${`figure-cell ${outcome === "unknown" && counts[outcome] ? "is-bad" : ""}`}
      title=${outcomeName(outcome)}
    >
      <dt>
        <span aria-hidden="true">${OUTCOME_SIGNS[outcome]}</span>
        <span class="sr-only">${outcomeName(outcome)}</span>
      </dt>
      <dd class="number">${count(counts[outcome] ?? 0)}</dd>
    </div>`;
  return html`<${NodeCard} name=${name} node=${node}>
    <p class="node-line quiet">${t("lab.xa.transfers", { n: total })}</p>
    <dl class="figure-cells">${figure("committed")}${figure("rolled-back")}${figure("unknown")}</dl>
    <${Rows}
      class="work-rows xa-rows" data-part="transfers" label=${t("lab.xa.transfers_label")} none=""
      rows=${[
        at && html`<${UnderWay} at=${at} />`,
        ...newest(ended, MOST_ENDED).map((one) => html`<${Ended} key=${one.key} one=${one} />`),
      ]}
    />
    <p class="rules"><${Rule} node=${name} part="manager" label=${t("lab.xa.order_again")} /></p>
  </${NodeCard}>`;
});

const Ended = ({ one }) =>
  html`<li class="work-row xa-row" ...${pointing(one.key)} title=${[one.xid, one.reason].filter(Boolean).join(" · ")}>
    <span aria-hidden="true">${OUTCOME_SIGNS[one.outcome]}</span>
    <span class="ellipsis">${one.key}</span>
    <span class="quiet">${outcomeName(one.outcome)}</span>
  </li>`;

function UnderWay({ at }) {
  return html`<li class="work-row xa-row is-running" ...${pointing(at.key)} title=${at.xid}>
    <span class="call-sign" aria-hidden="true"></span><span class="ellipsis">${at.key}</span>
    <span class="xa-phase">
      ${t(`lab.xa.phase_${at.phase.replaceAll(" ", "_")}`)}${" "}
      <span class="number quiet">${span(view.value.time_us - at.since_us)}</span>
    </span>
  </li>`;
}

export const ResourceManager = memo(({ name, node }) => {
  const part = node.resource;
  return html`<${NodeCard}
    name=${name}
    node=${node}
    summary=${node.bank && `${node.bank.name} ${node.bank.account}`}
    lasting=${node.bank && html`<${Bank} part=${node.bank} node=${name} />`}
  >
    ${
      part &&
      html`
        <${Lock} part=${part} account=${node.bank.account} />
        <${Rows}
          class="work-rows xa-rows" data-part="branches" label=${t("lab.xa.branches")}
          rows=${part.branches.map((branch) => html`<${Branch} key=${branch.xid} branch=${branch} />`)}
        />
        ${node.cash_machine && html`<${CashMachine} part=${node.cash_machine} />`}
        <p class="rules"><${Rule} node=${name} part="resource" label=${t("lab.xa.lock_wait")} /></p>
      `
    }
  </${NodeCard}>`;
});

const Branch = ({ branch: { xid, key, state, doing, reason } }) =>
  html`<li
    class=${`work-row xa-row ${state === "prepared" ? "is-waits" : ""}`} ...${pointing(key)} title=${reason || key}
  >
    <span class="mono">${xid}</span>
    <span class="quiet">${t(`lab.xa.doing_${doing}`)}</span>
    <span class=${`xa-state xa-${state}`}>${outcomeName(state, "branch")}</span>
  </li>`;

/** Reads the time, so it is drawn again whenever time passes. */
function Lock({ part, account }) {
  if (part.holder === null) return html`<p class="node-line quiet">${t("lab.xa.lock_free", { account })}</p>`;
  return html`<p class="node-line xa-lock">
    ${t("lab.xa.lock_held", { account, holder: part.holder })}${" "}
    <span class="number">${span(view.value.time_us - part.held_us)}</span>
    ${
      part.waiting.length > 0 &&
      html`<span class="badge badge-warning" title=${part.waiting.map(({ waiter }) => waiter).join(", ")}>
        ${t("lab.waiting", { n: part.waiting.length })}
      </span>`
    }
  </p>`;
}
