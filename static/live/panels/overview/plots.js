// Throughput, latency and backlog over one range of time: the last minutes, a day, or a stretch of it.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { computed, useComputed } from "@preact/signals";
import { clockTime, compact, microseconds, milliseconds } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { rateOf } from "../../../common/cluster/history.js";
import { state } from "../../../common/cluster/view.js";
import { Empty } from "../../../parts/lane/marks.js";
import { drawWhileShown, pointed, wholeSpikes } from "./plot_chart.js";
import { chooseRange, problem, range, RANGES, shown, zoom } from "./plot_range.js";

/** The last second; it stays the same while other parts of the state change. */
const rates = computed(() => state.value.rates);

const perSecond = (value) => (value == null ? "–" : `${compact(value)}/s`);

/**
 * Each plot: how to print a value, its series (column, variable of the colour, dashes), and its upright axis: from 0
 * to at least `least`, or logarithmic from `floor` to at least `least`.
 */
const PLOTS = [
  {
    name: "throughput",
    print: perSecond,
    least: 10,
    series: [
      ["in_messages", "--plot-in", []],
      ["out_messages", "--plot-out", [7, 4]],
    ],
  },
  { name: "lag", print: compact, least: 10, series: [["backlog", "--plot-in", []]] },
  {
    name: "put_latency",
    print: microseconds,
    floor: 10,
    least: 1000,
    series: [
      ["put_p50_us", "--plot-in", []],
      ["put_p99_us", "--plot-high", [7, 4]],
    ],
  },
  {
    name: "deliver_latency",
    print: milliseconds,
    floor: 1,
    least: 100,
    series: [
      ["deliver_p50_ms", "--plot-out", []],
      ["deliver_p99_ms", "--plot-high", [7, 4]],
    ],
  },
];

export function Plots() {
  const isCoarse = useComputed(() => shown.value.resolution_s > 1);
  return html`<section class="panel" id="plots" tabindex="-1" aria-labelledby="plots-title">
    <header class="panel-head">
      <h2 class="panel-title" id="plots-title">${t("live.plots.title")}</h2>
      <fieldset class="segmented">
        <legend class="sr-only">${t("live.plots.range")}</legend>
        ${Object.keys(RANGES).map(
          (name) => html`<label key=${name}>
            <input
              type="radio"
              name="plot-range"
              checked=${range.value === name && zoom.value === null}
              onChange=${() => chooseRange(name)}
            />
            <span>${t(`live.plots.range_${name}`)}</span>
          </label>`,
        )}
      </fieldset>
      <label class="switch" title=${t("live.plots.whole_hint")}>
        <input
          type="checkbox"
          checked=${wholeSpikes.value}
          onChange=${(event) => (wholeSpikes.value = event.target.checked)}
        />
        <span>${t("live.plots.whole")}</span>
      </label>
      <${Time} />
    </header>
    <div class="plots" data-coarse=${isCoarse.value}>
      ${PLOTS.map((plot) => html`<${Plot} key=${plot.name} plot=${plot} />`)}
    </div>
  </section>`;
}

/** Which time is shown, how coarse, and the way back from a zoom; the time under the pointer while there is one. */
function Time() {
  const { seconds, resolution_s: width } = shown.value;
  const at = seconds[pointed.value];
  if (problem.value) return html`<span class="problem-text" role="alert">${problem.value}</span>`;
  const time = (second) => clockTime(second * 1000);
  return html`
    ${
      zoom.value &&
      html`<button type="button" class="button" onClick=${() => (zoom.value = null)}>
        ${t("live.plots.zoom_out", { from: time(zoom.value.from), to: time(zoom.value.to) })}
      </button>`
    }
    <span class="quiet number plots-time">
      ${at === undefined ? t(width === 1 ? "live.plots.hint" : "live.plots.hint_coarse", { s: width }) : time(at)}
    </span>
  `;
}

function Plot({ plot }) {
  const place = useRef(null);
  const isEmpty = useComputed(() => shown.value.seconds.length < 2);
  useEffect(() => drawWhileShown(place.current, plot), []);
  const title = t(`live.plots.${plot.name}`);
  const unit = t(`live.plots.${plot.name}_unit`);
  return html`<figure class="plot" data-plot=${plot.name}>
    <figcaption>
      <strong>${title}</strong> <span class="quiet" title=${unit}>${unit}</span>
    </figcaption>
    <div
      class="plot-canvas"
      ref=${place}
      role="img"
      tabindex="0"
      aria-label=${`${title}: ${summary(plot)}`}
      aria-description=${t("live.plots.keys")}
    ></div>
    ${isEmpty.value && html`<div class="plot-empty"><${Empty} title=${t("live.plots.none")} /></div>`}
    <${Legend} plot=${plot} />
  </figure>`;
}

/** The series with their values: those under the pointer, else those of the last second. */
function Legend({ plot }) {
  const { measures } = shown.value;
  const at = pointed.value;
  const value = (column) => {
    if (at === null) return plot.print(rateOf(rates.value, column));
    const { mean, max } = measures[column] ?? { mean: [], max: [] };
    const whole = plot.print(mean[at] == null ? null : Math.round(mean[at]));
    return max[at] > mean[at] ? `${whole} (≤ ${plot.print(max[at])})` : whole;
  };
  return html`<ul class="plot-legend" role="list">
    ${plot.series.map(
      ([column, colour, dash]) => html`<li key=${column}>
        <svg width="26" height="8" aria-hidden="true">
          <line
            x1="0"
            x2="26"
            y1="4"
            y2="4"
            stroke=${`var(${colour})`}
            stroke-width="3"
            stroke-dasharray=${dash.join(" ")}
          />
        </svg>
        <span>${nameOf(column)}</span> <strong class="number">${value(column)}</strong>
      </li>`,
    )}
  </ul>`;
}

/** "put_p99_us" is named as every p99. */
const nameOf = (column) => t(`live.plots.${/p\d+/.exec(column) ?? column}`);

function summary(plot) {
  return plot.series
    .map(([column]) => `${nameOf(column)} ${plot.print(rateOf(rates.value, column))}`)
    .join(t("text.list_separator"));
}
