// @ts-check
// A Redis: its newest keys with the time that they have left, and what a failover has lost.

import { html } from "htm/preact";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { shortMs } from "../../../common/world/format.js";
import { memo } from "../../../common/memo.js";
import { NodeCard } from "../node_card.js";
import { Part } from "../part.js";
import { Records, shortKey } from "./records.js";

/** @type {(props: { name: string, node: Picture.RedisPicture }) => any} */
export const Redis = memo(({ name, node }) => {
  const part = node.redis;
  return html`<${NodeCard}
    name=${name}
    node=${node}
    summary=${t("lab.work.keys", { n: part.key_count })}
    lasting=${html`<${Keys} part=${part} node=${name} />`}
  />`;
});

const Keys = memo(
  ({ part, node }) => html`<${Part}
    part="redis"
    name=${t("lab.work.records")} of=${node}
    class="work-part"
    keepsOpen=${part.forgotten.length > 0}
    summary=${html`<span class="number quiet">${count(part.key_count)}</span>
      <span class="quiet number" title=${t("lab.work.lag_hint")}>
        ${t("lab.work.lag", { time: shortMs(part.replica_lag_ms) })}
      </span>`}
  >
    <${Records} rows=${part.keys} more=${part.key_count} node=${node} label=${t("lab.work.records")} />
    ${
      part.forgotten.length > 0 &&
      html`<p class="work-forgotten" title=${t("lab.work.forgotten_hint")}>
        <span class="badge badge-bad">${t("lab.work.forgotten", { n: part.forgotten.length })}</span>${" "}
        <span>${part.forgotten.map(shortKey).join(", ")}</span>
      </p>`
    }
  </${Part}>`,
);
