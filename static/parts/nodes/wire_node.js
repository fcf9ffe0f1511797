// @ts-check
// A real client or broker of a recording: its internals are unknown, so only its name and the number of its frames are
// shown.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";
import { NodeCard } from "./node_card.js";

export const WireNode = memo(({ name, node }) => {
  const said = `${t("lab.wire.sent", { n: node.sent })}, ${t("lab.wire.received", { n: node.got })}`;
  return html`<${NodeCard} name=${name} node=${node} summary=${said}>
    <p class="node-line mono">${node.full_name}</p>
    <p class="node-line quiet number">${said}</p>
  </${NodeCard}>`;
});
