// @ts-check
// A producer: what it has sent and the outcomes, and what is in progress.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { span } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";
import { pointing } from "../../common/viewer/pointed.js";
import { view } from "../../common/world/view.js";
import { Bank } from "./bank.js";
import { CashMachine } from "./cash_machine.js";
import { NodeCard } from "./node_card.js";
import { Rule } from "./part.js";
import { FigureCells } from "./rows.js";
import { Sending, Trace } from "./sending.js";
import { LocalTransactions } from "./transactions.js";

const MOST = 8;

/** Every message that it began to send is acknowledged, certainly not stored, or of unknown outcome (so far). */
export function Figures({ node }) {
  const { sent = 0, acknowledged = 0, failed = 0, unknown = 0 } = node;
  const open = Math.max(0, sent - acknowledged - failed);
  const openHint = t("lab.producer.open_hint", { unknown, flying: node.in_flight?.length ?? 0 });
  return html`<${FigureCells}
    word=${(name) => t(`lab.producer.${name}`)}
    figures=${[
      ["sent", count(sent)],
      ["acknowledged", count(acknowledged)],
      ["failed", count(failed), failed > 0],
      ["open", count(open), false, openHint],
    ]}
  />`;
}

/** What is sent and not answered yet; `textOf`: the words of one of them. */
export const Flying = ({ sends, textOf }) =>
  html`<ul class="chips flying-sends" aria-label=${t("lab.producer.in_flight")}>
    ${sends.slice(0, MOST).map(
      (send) => html`<li
        key=${`${send.key}-${send.since_us}`} class="chip chip-flying" ...${pointing(send.key)}
        title=${t("lab.producer.since", { time: span(view.peek().time_us - send.since_us) })}
      >
        ${textOf(send)}
      </li>`,
    )}
    ${sends.length > MOST && html`<li class="quiet">+${sends.length - MOST}</li>`}
  </ul>`;

const attempted = ({ key, attempt }) => html`${key}${attempt > 1 && html` <span class="attempt">×${attempt}</span>`}`;

export const Producer = memo(({ name, node }) => {
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
    <${Flying} sends=${node.in_flight ?? []} textOf=${attempted} />
    ${node.transactions && html`<${LocalTransactions} part=${node.transactions} />`}
    ${node.cash_machine && html`<${CashMachine} part=${node.cash_machine} />`}
    <p class="rules"><${Rule} node=${name} part="in_flight" label=${t("lab.producer.timeout")} /></p>
  </${NodeCard}>`;
});
