// @ts-check
// What a consumer group's loss detector has found: which numbers of the producers are missing, or there twice.

import { html } from "htm/preact";
import { rangesText } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";

const STAGES = ["delivered", "done"];
const RANGES_SHOWN = 3;

export const Loss = memo(
  ({ part }) => html`<dl class="loss-lines" title=${t("lab.loss.hint")} aria-label=${t("section.numbers")}>
    ${STAGES.map(
      (stage) => html`<div key=${stage} class="node-line">
        <dt class="quiet">${t(`lab.loss.${stage}`)}</dt>
        <dd>${part[stage] === null ? html`<span class="quiet">${t("lab.none_yet")}</span>` : counts(part[stage])}</dd>
      </div>`,
    )}
  </dl>`,
);

const counts = ({ numbered, met, missing, ranges, twice, out_of_order: late, delivered_again: again }) => html`
  <span class="number">${t(met === numbered ? "lab.loss.complete" : "lab.loss.met", { met, n: numbered })}</span>
  ${
    missing > 0 &&
    html`<span class="badge badge-bad" title=${t("lab.loss.missing_hint", { n: missing })}>
      ${t("lab.loss.missing", { ranges: rangesText(ranges, RANGES_SHOWN) })}
    </span>`
  }
  ${twice > 0 && html`<span class="badge badge-warning">${t("lab.loss.twice", { n: twice })}</span>`}
  ${late > 0 && html`<span class="badge badge-warning">${t("lab.loss.out_of_order", { n: late })}</span>`}
  ${again > 0 && html`<span class="quiet">${t("lab.loss.again", { n: again })}</span>`}
`;
