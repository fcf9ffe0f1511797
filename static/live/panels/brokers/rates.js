// @ts-check
// Rates of the brokers over the last minutes in which the tab was open, one line for each broker.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { compact } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { Chart } from "../../../parts/chart/chart.js";
import { lookOf } from "../../../parts/chart/model.js";
import { Panel } from "../../../parts/panel/panel.js";
import { report, samples } from "./asking.js";
import { roleOf } from "./brokers.js";

/** As many as there are looks that differ. */
const LINES_MAX = 12;
const LEAST_SECONDS = 60;

/** The second under the pointer, in either chart. */
const pointed = signal(/** @type {number | null} */ (null));

const perSecond = (/** @type {number | null} */ value) => (value === null ? "–" : `${compact(value)}/s`);

export function BrokerRates() {
  const brokers = (report.value?.brokers ?? []).filter(({ facts }) => facts);
  const shown = brokers.slice(0, LINES_MAX);
  if (samples.value.length < 2) return null;
  return html`<${Panel} id="broker-rates" title=${t("live.brokers.rates_title")} hint=${t("live.brokers.rates_hint")}>
    <div class="plots broker-plots">
      ${["in_rate", "out_rate"].map(
        (name, direction) => html`<${Chart}
          key=${name}
          chart=${{
            name,
            x: { places: samples.value.map(({ second }) => second), kind: "clock", least: LEAST_SECONDS },
            y: { print: perSecond, least: 10, isWhole: true },
            series: shown.map((broker, index) => ({
              name: `${broker.name} ${roleOf(broker)}`,
              look: lookOf(index),
              last: samples.value.at(-1)?.rates[broker.address]?.[direction] ?? null,
              values: samples.value.map(({ rates }) => rates[broker.address]?.[direction] ?? null),
            })),
          }}
          title=${t(`live.brokers.${name}`)}
          cursor=${pointed}
          sync="broker-plots"
        />`,
      )}
    </div>
    ${
      shown.length < brokers.length &&
      html`<p class="panel-note quiet">${t("live.brokers.omitted_brokers", { n: brokers.length - shown.length })}</p>`
    }
  </${Panel}>`;
}
