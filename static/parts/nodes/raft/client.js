// @ts-check
// A client of a Raft group: the outcomes of its commands, the one that it waits for, and whom it asks.

import { html } from "htm/preact";
import { t } from "../../../common/i18n.js";
import { span } from "../../../common/world/format.js";
import { memo } from "../../../common/memo.js";
import { pointing, view } from "../../../common/world/view.js";
import { NodeCard } from "../node_card.js";
import { Rule } from "../part.js";
import { Figures } from "../producer.js";

export const RaftClient = memo(({ name, node }) => {
  const summary = t("lab.producer.summary", { sent: node.sent ?? 0, acknowledged: node.acknowledged ?? 0 });
  return html`<${NodeCard} name=${name} node=${node} summary=${summary}>
    <${Figures} node=${node} />
    <ul class="chips flying-sends" aria-label=${t("lab.producer.in_flight")}>
      ${(node.in_flight ?? []).map(
        (one) => html`<li
          key=${one.key}
          class="chip chip-flying"
          ...${pointing(one.key)}
          title=${t("lab.producer.since", { time: span(view.peek().time_us - one.since_us) })}
        >
          ${one.key} → ${node.asked}
        </li>`,
      )}
    </ul>
    <p class="rules"><${Rule} node=${name} part="in_flight" label=${t("lab.producer.timeout")} /></p>
  </${NodeCard}>`;
});
