// @ts-check
// A producer: what it has sent and the outcomes, and what is in progress.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { span } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";
import { pointing, view } from "../../common/world/view.js";
import { Bank } from "./bank.js";
import { CashMachine } from "./cash_machine.js";
import { NodeCard } from "./node_card.js";
import { Rule } from "./part.js";
import { Sending, Trace } from "./sending.js";
import { LocalTransactions } from "./transactions.js";

const MOST = 8;

/** Every message that it began to send is acknowledged, certainly not stored, or of unknown outcome (so far). */
export function Figures({ node }) {
  const { sent = 0, acknowledged = 0, failed = 0, unknown = 0 } = node;
  const open = Math.max(0, sent - acknowledged - failed);
  const figure = (key, value, isBad = false, title = t(`lab.producer.${key}_hint`)) =>
    html`<div class=${`figure-cell ${isBad && value ? "is-bad" : ""}`} data-figure=${key} title=${title}>
      <dt>${t(`lab.producer.${key}`)}</dt><dd class="number">${count(value)}</dd>
    </div>`;
  return html`<dl class="figure-cells">
    ${figure("sent", sent)}${figure("acknowledged", acknowledged)}${figure("failed", failed, true)}
    ${figure("open", open, false, t("lab.producer.open_hint", { unknown, flying: node.in_flight?.length ?? 0 }))}
  </dl>`;
}

export const Producer = memo(({ name, node }) => {
  const flying = node.in_flight ?? [];
  const summary = t("lab.producer.summary", { sent: node.sent ?? 0, acknowledged: node.acknowledged ?? 0 });
  return html`<${NodeCard}
    name=${name}
    node=${node}
    summary=${summary}
    titleExtra=${html`<span class="node-group ellipsis quiet" title=${t("word.producer_group")}>${node.group}</span>`}
    lasting=${node.bank && html`<${Bank} part=${node.bank} node=${name} />`}
  >
    <${Figures} node=${node} />
    ${node.sending && html`<${Sending} part=${node.sending} />`}
    ${node.trace && html`<${Trace} part=${node.trace} />`}
    <ul class="chips flying-sends" aria-label=${t("lab.producer.in_flight")}>
      ${flying.slice(0, MOST).map(
        (send) => html`<li
          key=${`${send.key}-${send.since_us}`}
          class="chip chip-flying"
          ...${pointing(send.key)}
          title=${t("lab.producer.since", { time: span(view.peek().time_us - send.since_us) })}
        >
          ${send.key}${send.attempt > 1 && html` <span class="attempt">×${send.attempt}</span>`}
        </li>`,
      )}
      ${flying.length > MOST && html`<li class="quiet">+${flying.length - MOST}</li>`}
    </ul>
    ${node.transactions && html`<${LocalTransactions} part=${node.transactions} />`}
    ${node.cash_machine && html`<${CashMachine} part=${node.cash_machine} />`}
    <p class="rules"><${Rule} node=${name} part="in_flight" label=${t("lab.producer.timeout")} /></p>
  </${NodeCard}>`;
});
