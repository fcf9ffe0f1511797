// @ts-check
// The name server: which brokers it knows. It is drawn as a line while it has no problem.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";
import { NodeCard } from "./node_card.js";

export const NameServer = memo(({ name, node }) => {
  const brokers = Object.entries(node.brokers ?? {});
  const topics = Object.keys(node.routes ?? {}).length;
  const known = brokers.map(([broker]) => broker).join(", ");
  const summary = known ? t("lab.name_server.knows", { brokers: known }) : t("lab.name_server.none");
  return html`<${NodeCard} name=${name} node=${node} summary=${summary}>
    <p class="node-line">
      <span class="quiet">${t("lab.name_server.routes")}</span>
      ${brokers.length === 0 && html`<span class="quiet">${t("lab.name_server.none")}</span>`}
      ${brokers.map(
        ([broker, facts]) => html`<span key=${broker} class="chip" title=${JSON.stringify(facts)}>${broker}</span>`,
      )}
      ${topics > 0 && html`<span class="quiet">${t("lab.name_server.topics", { n: topics })}</span>`}
    </p>
  </${NodeCard}>`;
});
