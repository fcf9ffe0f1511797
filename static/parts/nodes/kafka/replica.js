// @ts-check
// One copy of a partition: whether it leads, in which epoch, how far consumers may read, and who is in sync.

import { html } from "htm/preact";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { memo } from "../../../common/memo.js";
import { Rule } from "../part.js";

export const Replica = memo(
  ({ name, log: { replica, end } }) => html`<div class="kafka-replica">
    <${Office} replica=${replica} />
    <span class="number" title=${t("lab.kafka.high_watermark_hint")} data-figure="high-watermark">
      ${t("lab.kafka.high_watermark", { n: count(replica.high_watermark) })}
    </span>
    <span class="number quiet" title=${t("lab.kafka.log_end_hint")}>${t("lab.kafka.log_end", { n: count(end) })}</span>
    <${InSync} isr=${replica.isr} replicas=${replica.replicas} />
    ${
      replica.asked_isr &&
      html`<span class="badge">${t("lab.kafka.requested_isr", { names: replica.asked_isr.join(" ") })}</span>`
    }
    ${replica.state === "leader" && html`<${Rule} node=${name} part="isr" label="replica.lag.time.max.ms" />`}
    ${replica.followers.map(
      (one) => html`<span
        key=${one.name} class="chip"
        title=${t("lab.kafka.follower_hint", { name: one.name, n: one.end < 0 ? "?" : one.end })}
      >
        ${one.name} <span class="number">${one.end < 0 ? "?" : count(one.end)}</span>
      </span>`,
    )}
  </div>`,
);

const Office = ({ replica: { state, leader, epoch } }) => html`<span
  class=${`kafka-office is-${state}`}
  data-office=${state}
  title=${t("lab.kafka.epoch_hint")}
>
  ${state === "leader" && html`<span aria-hidden="true">★ </span>`}
  ${t(`lab.kafka.state_${state}`, { leader })} · <span class="number">${t("lab.kafka.epoch", { n: epoch })}</span>
</span>`;

/** Of all `replicas` those that count as in sync. */
export const InSync = ({ isr, replicas }) => html`<span class="kafka-isr" title=${t("lab.kafka.isr_hint")} data-isr>
  ISR
  ${replicas.map(
    (name) => html` <span
      key=${name}
      class=${isr.includes(name) ? "" : "is-out"}
      aria-label=${t(isr.includes(name) ? "lab.kafka.in_sync" : "lab.kafka.not_in_sync", { name })}
    >
      ${name}
    </span>`,
  )}
</span>`;
