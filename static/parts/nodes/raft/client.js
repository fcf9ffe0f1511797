// @ts-check
// A client of a Raft group: the outcomes of its commands, the one that it waits for, and whom it asks.

import { html } from "htm/preact";
import { t } from "../../../common/i18n.js";
import { memo } from "../../../common/memo.js";
import { NodeCard } from "../node_card.js";
import { Rule } from "../part.js";
import { Figures, Flying } from "../producer.js";

export const RaftClient = memo(({ name, node }) => {
  const summary = t("lab.producer.summary", { sent: node.sent ?? 0, acknowledged: node.acknowledged ?? 0 });
  return html`<${NodeCard} name=${name} node=${node} summary=${summary}>
    <${Figures} node=${node} />
    <${Flying} sends=${node.in_flight ?? []} textOf=${({ key }) => `${key} → ${node.asked}`} />
    <p class="rules"><${Rule} node=${name} part="in_flight" label=${t("lab.producer.timeout")} /></p>
  </${NodeCard}>`;
});
