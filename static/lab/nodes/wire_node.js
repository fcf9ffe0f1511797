// A real client or broker of a recording: nobody looked into it, so its name and how much it said is all there is.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { memo } from "../memo.js";
import { NodeCard } from "./node_card.js";

export const WireNode = memo(({ name, node }) => {
  const said = `${t("lab.wire.sent", { n: node.sent })}, ${t("lab.wire.received", { n: node.got })}`;
  return html`<${NodeCard} name=${name} node=${node} summary=${said}>
    <p class="node-line mono">${node.full_name}</p>
    <p class="node-line quiet number">${said}</p>
  </${NodeCard}>`;
});
