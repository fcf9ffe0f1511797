// @ts-check
// Throughput, latency and backlog over one range of time: the last minutes, a day, or a stretch of it.

import { html } from "htm/preact";
import { computed, signal, useComputed } from "@preact/signals";
import { clockTime, compact, microseconds, milliseconds } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { rateOf } from "../../../common/cluster/history.js";
import { state } from "../../../common/cluster/view.js";
import { bilingual } from "../../../common/world/format.js";
import { Button } from "../../../parts/controls/button.js";
import { Chart } from "../../../parts/chart/chart.js";
import { indexAt, lookOf } from "../../../parts/chart/model.js";
import { Empty } from "../../../parts/lane/marks.js";
import { Panel } from "../../../parts/panel/panel.js";
import { chooseRange, problem, range, RANGES, shown, zoom, zoomTo } from "./plot_range.js";
import { Segmented, Switch } from "../../../parts/controls/choices.js";

/** @import { Mark } from "../../../parts/chart/model.js" */

/** The last second; it stays the same while other parts of the state change. */
const rates = computed(() => state.value.rates);

/** The second under the pointer, in whichever plot it is; null: it is in none. */
const pointed = signal(/** @type {number | null} */ (null));
/** Are spikes shown whole, at the cost of all else? */
const wholeSpikes = signal(false);

/** A broker that has just started does not stretch its first seconds. */
const LEAST_SECONDS = 60;
/** The share of the time shown within which a mark is next to the pointer. */
const NEAR_SHARE = 0.012;
const IN = lookOf(0);
const HIGH = lookOf(1);
const OUT = { ...lookOf(2), dash: [] };

/** How an event is marked: signs, as colours alone tell nothing apart. */
const SIGNS = { start: "▶", stop: "■", fault_on: "✕", fault_off: "✓", rebalance: "⇄" };

/** The events of the time that is shown, as marks. */
const marks = computed(() => {
  const { events, seconds, resolution_s: width } = shown.value;
  const [first, last] = [seconds[0], seconds[seconds.length - 1] + width];
  return events
    .map(({ at_us: at, kind, text }) => ({ at: at / 1e6, sign: SIGNS[kind], text: bilingual(text) }))
    .filter(({ at }) => at >= first && at <= last);
});

/** @typedef {(value: number | null) => string} Print */

/** @type {Print} */
const perSecond = (value) => (value === null ? "–" : `${compact(value)}/s`);
/** @type {Print} */
const wholeMilliseconds = (value) => milliseconds(value === null ? null : Math.round(value));

/**
 * Each plot: its upright axis (see the chart's model), and its series (column, look).
 * @type {{ name: string, y: import("../../../parts/chart/model.js").UprightAxis,
 *   series: [string, import("../../../parts/chart/model.js").Look][] }[]}
 */
const PLOTS = [
  {
    name: "throughput",
    y: { print: perSecond, least: 10, isWhole: true },
    series: [
      ["in_messages", IN],
      ["out_messages", { ...OUT, dash: [7, 4] }],
    ],
  },
  { name: "lag", y: { print: compact, least: 10, isWhole: true }, series: [["backlog", IN]] },
  {
    name: "put_latency",
    y: { print: microseconds, floor: 10, least: 1000 },
    series: [
      ["put_p50_us", IN],
      ["put_p99_us", HIGH],
    ],
  },
  {
    name: "deliver_latency",
    y: { print: wholeMilliseconds, floor: 1, least: 100 },
    series: [
      ["deliver_p50_ms", OUT],
      ["deliver_p99_ms", HIGH],
    ],
  },
];

export function Plots() {
  const isCoarse = useComputed(() => shown.value.resolution_s > 1);
  const head = html`<${Segmented}
      name="plot-range"
      legend=${t("live.plots.range")}
      options=${Object.keys(RANGES).map((name) => [name, t(`live.plots.range_${name}`)])}
      chosen=${zoom.value === null ? range.value : null}
      choose=${chooseRange}
    />
    <${Switch}
      text=${t("live.plots.whole")}
      hint=${t("live.plots.whole_hint")}
      isOn=${wholeSpikes.value}
      set=${(/** @type {boolean} */ isOn) => (wholeSpikes.value = isOn)}
    />
    <${Time} />`;
  return html`<${Panel} id="plots" title=${t("live.plots.title")} head=${head}>
    <div class="plots" data-coarse=${isCoarse.value}>
      ${PLOTS.map((plot) => html`<${Plot} key=${plot.name} plot=${plot} />`)}
    </div>
    <${Events} />
  </${Panel}>`;
}

/** Which time is shown, how coarse, and the way back from a zoom; the time under the pointer while there is one. */
function Time() {
  const { seconds, resolution_s: width } = shown.value;
  const at = pointed.value === null ? undefined : seconds[indexAt(seconds, pointed.value)];
  if (problem.value) return html`<span class="problem-text" role="alert">${problem.value}</span>`;
  const time = (/** @type {number} */ second) => clockTime(second * 1e6);
  return html`
    ${
      zoom.value &&
      html`<${Button} onClick=${() => (zoom.value = null)}>
        ${t("live.plots.zoom_out", { from: time(zoom.value.from), to: time(zoom.value.to) })}
      </${Button}>`
    }
    <span class="quiet number plots-time">
      ${at === undefined ? t(width === 1 ? "live.plots.hint" : "live.plots.hint_coarse", { s: width }) : time(at)}
    </span>
  `;
}

/** What the marks are: those next to the pointer, else how many; all of them as a list on request. */
function Events() {
  const { seconds } = shown.value;
  const at = pointed.value;
  const near = (seconds[seconds.length - 1] - seconds[0]) * NEAR_SHARE;
  const words = (/** @type {Mark} */ mark) => `${clockTime(mark.at * 1e6)} ${mark.sign} ${mark.text}`;
  const pointedAt = marks.value.filter((mark) => at !== null && Math.abs(mark.at - at) <= near);
  return html`<details class="plot-events">
    <summary class=${pointedAt.length > 0 ? "" : "quiet"}>
      ${pointedAt.map(words).join(" · ") || t("live.plots.events", { n: marks.value.length })}
    </summary>
    <ol role="list">${marks.value.toReversed().map((mark, index) => html`<li key=${index}>${words(mark)}</li>`)}</ol>
  </details>`;
}

/** @param {{ plot: (typeof PLOTS)[number] }} props */
function Plot({ plot: { name, y, series } }) {
  const { seconds, measures } = shown.value;
  const nothing = seconds.map(() => null);
  const chart = {
    name,
    x: { places: seconds, kind: "clock", least: LEAST_SECONDS },
    y: { ...y, cutsSpikes: y.floor === undefined && !wholeSpikes.value },
    marks: marks.value,
    series: series.map(([column, look]) => {
      const { mean, max, min } = measures[column] ?? { mean: nothing, max: nothing, min: nothing };
      const last = rateOf(rates.value, column);
      return { name: nameOf(column), look, values: mean, band: { high: max, low: min }, last };
    }),
  };
  return html`<${Chart}
    chart=${chart}
    title=${t(`live.plots.${name}`)}
    unit=${t(`live.plots.${name}_unit`)}
    cursor=${pointed}
    sync="live-plots"
    onZoom=${zoomTo}
  >
    ${seconds.length < 2 && html`<div class="plot-empty"><${Empty} title=${t("live.plots.none")} /></div>`}
  <//>`;
}

/** "put_p99_us" is named as every p99. @param {string} column */
const nameOf = (column) => t(`live.plots.${/p\d+/.exec(column) ?? column}`);
