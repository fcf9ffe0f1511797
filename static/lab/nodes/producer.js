// A producer: what it has sent, what the broker has acknowledged, and what is under way.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { span } from "../format.js";
import { memo } from "../memo.js";
import { SettingButton } from "../panels/controls/settings.js";
import { settingOfPart } from "../settings.js";
import { pointedKey, view } from "../view.js";
import { Bank } from "./bank.js";
import { CashMachine } from "./cash_machine.js";
import { NodeCard } from "./node_card.js";
import { Sending, Trace, Unknown } from "./sending.js";
import { LocalTransactions } from "./transactions.js";

const MOST = 8;

export const Producer = memo(({ name, node }) => {
  const flying = node.in_flight ?? [];
  const figure = (key, value) =>
    html`<div class=${`figure-cell ${key === "failed" && value ? "is-bad" : ""}`}>
      <dt>${t(`lab.producer.${key}`)}</dt><dd class="number">${count(value ?? 0)}</dd>
    </div>`;
  return html`<${NodeCard} name=${name} node=${node} lasting=${node.bank && html`<${Bank} part=${node.bank} />`}>
    <p class="node-line quiet ellipsis" title=${t("lab.producer.group")}>${node.group}</p>
    <p class="node-line rule-line">
      <span class="quiet">${t("lab.producer.timeout")}</span>${" "}
      <${SettingButton} node=${name} name=${settingOfPart(name, "in_flight")} />
    </p>
    <dl class="figure-cells">
      ${figure("sent", node.sent)}${figure("acknowledged", node.acknowledged)}${figure("failed", node.failed)}
    </dl>
    ${node.unknown > 0 && html`<${Unknown} count=${node.unknown} />`}
    ${node.sending && html`<${Sending} part=${node.sending} />`}
    ${node.trace && html`<${Trace} part=${node.trace} />`}
    <ul class="chips" aria-label=${t("lab.producer.in_flight")}>
      ${flying.slice(0, MOST).map(
        (send) => html`<li
          key=${`${send.key}-${send.since_us}`}
          class="chip chip-flying"
          onPointerEnter=${() => (pointedKey.value = send.key)}
          onPointerLeave=${() => (pointedKey.value = null)}
          title=${t("lab.producer.since", { time: span(view.peek().time_us - send.since_us) })}
        >
          ${send.key}${send.attempt > 1 && html` <span class="attempt">×${send.attempt}</span>`}
        </li>`,
      )}
      ${flying.length > MOST && html`<li class="quiet">+${flying.length - MOST}</li>`}
    </ul>
    ${node.transactions && html`<${LocalTransactions} part=${node.transactions} />`}
    ${node.cash_machine && html`<${CashMachine} part=${node.cash_machine} />`}
  </${NodeCard}>`;
});
