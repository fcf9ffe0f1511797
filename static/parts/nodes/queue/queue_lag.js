// @ts-check
// How far the slowest group of a queue lags, at the end of its line on a card.

import { html } from "htm/preact";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";

/** `lag`: null without groups; then the end of the queue, if there is room for it.
    @param {{ lag: number | null, end?: number }} props */
export const QueueLag = ({ lag, end }) =>
  html`<span class=${`queue-lag number ${lag ? "has-lag" : "quiet"}`} title=${t("lab.queues.lag_hint")}>
    ${lag === null ? end !== undefined && count(end) : lag ? t("lab.queues.lag", { n: lag }) : "✓"}
  </span>`;
