// Throughput, latency and backlog of the last ten minutes.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { clockTime, compact, microseconds, milliseconds } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { HISTORY_SECONDS, rateOf } from "../../history.js";
import { history, state } from "../../view.js";
import { Empty } from "../stage/marks.js";

const HEIGHT = 210;
/** Steps of the upright axes: whole numbers only, as the figures are whole. */
const STEPS = Array.from({ length: 10 }, (_, exponent) => [1, 2, 5].map((step) => step * 10 ** exponent)).flat();

/**
 * Each plot: how to print a value, its series (column, variable of the colour, dashes), and its upright axis: from 0
 * to at least `least`, or logarithmic from `floor` to at least `least`. Latencies are logarithmic: one message that
 * was read an hour late must not press the others to the ground.
 */
const PLOTS = [
  {
    name: "throughput",
    print: compact,
    least: 10,
    series: [
      ["in_messages", "--plot-in", []],
      ["out_messages", "--plot-out", [7, 4]],
    ],
  },
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
  { name: "lag", print: compact, least: 10, series: [["backlog", "--plot-in", []]] },
];

export function Plots() {
  return html`<section class="panel" id="plots" tabindex="-1" aria-labelledby="plots-title">
    <header class="panel-head">
      <h2 class="panel-title" id="plots-title">${t("live.plots.title")}</h2>
      <span class="quiet">${t("live.plots.hint")}</span>
    </header>
    <div class="plots">${PLOTS.map((plot) => html`<${Plot} key=${plot.name} plot=${plot} />`)}</div>
  </section>`;
}

function Plot({ plot }) {
  const place = useRef(null);
  const isEmpty = history.value.seconds.length < 2;
  useEffect(() => drawWhileShown(place.current, plot), []);
  const title = t(`live.plots.${plot.name}`);
  return html`<figure class="plot">
    <figcaption><strong>${title}</strong> <span class="quiet">${t(`live.plots.${plot.name}_unit`)}</span></figcaption>
    <div class="plot-canvas" ref=${place} role="img" aria-label=${`${title}: ${summary(plot)}`}></div>
    ${isEmpty && html`<div class="plot-empty"><${Empty} title=${t("live.plots.none")} /></div>`}
    <ul class="plot-legend" role="list">
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
          <span>${t(`live.plots.${column}`)}</span>${" "}
          <strong class="number">
            ${plot.print(rateOf(state.value.rates, column))}
          </strong>
        </li>`,
      )}
    </ul>
  </figure>`;
}

function summary(plot) {
  return plot.series
    .map(([column]) => `${t(`live.plots.${column}`)} ${plot.print(rateOf(state.value.rates, column))}`)
    .join(t("text.list_separator"));
}

/** Draws the plot into `place`, again in other colours when the theme changes; returns what ends it. */
function drawWhileShown(place, plot) {
  let chart = null;
  const raised = (value) => (value === null || plot.floor === undefined ? value : Math.max(plot.floor, value));
  const columns = (seconds) => [seconds.seconds, ...plot.series.map(([column]) => seconds[column].map(raised))];
  const rebuild = () => {
    chart?.destroy();
    chart = new uPlot(options(place, plot), columns(history.peek()), place);
  };
  const unsubscribe = history.subscribe((value) => chart?.setData(columns(value)));
  const sizes = new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: HEIGHT }));
  rebuild();
  sizes.observe(place);
  addEventListener("themechange", rebuild);
  return () => {
    unsubscribe();
    sizes.disconnect();
    removeEventListener("themechange", rebuild);
    chart.destroy();
  };
}

function options(place, plot) {
  const styles = getComputedStyle(document.documentElement);
  const colour = (variable) => styles.getPropertyValue(variable).trim();
  const fontSize = styles.getPropertyValue("--plot-font-size").trim() || "12px";
  const font = `${fontSize} ${getComputedStyle(document.body).fontFamily}`;
  const axis = {
    stroke: colour("--text-quiet"),
    font,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), size: 4 },
  };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { time: true, range: xRange }, y: yScale(plot) },
    axes: [
      { ...axis, values: (_, seconds) => seconds.map((second) => clockTime(second * 1000)), space: 70 },
      {
        ...axis,
        values: (_, values) => values.map((value) => labelOf(plot, value)),
        size: 64,
        ...(plot.floor === undefined ? { incrs: STEPS } : { splits: powersOfTen, filter: (_, splits) => splits }),
      },
    ],
    series: [
      {},
      ...plot.series.map(([column, variable, dash]) => ({
        label: column,
        stroke: colour(variable),
        width: 2,
        dash,
        points: { show: false },
        spanGaps: false,
      })),
    ],
  };
}

function yScale({ floor, least }) {
  if (floor === undefined) return { range: (_, __, most) => [0, Math.max(least, (most ?? 0) * 1.1)] };
  return {
    distr: 3,
    log: 10,
    range: (_, __, most) => [floor, 10 ** Math.ceil(Math.log10(Math.max(least, (most ?? 0) * 1.1)))],
  };
}

function powersOfTen(_, __, least, most) {
  const powers = [least];
  while (powers.at(-1) < most) powers.push(powers.at(-1) * 10);
  return powers;
}

/** Whatever is less than the floor of a logarithmic axis stands on it. */
const labelOf = ({ floor, print }, value) => (value === floor ? `≤ ${print(value)}` : print(value));

/** At least the last minute, so that a broker that has just started does not stretch its first seconds. */
function xRange(_, first, last) {
  if (first == null) return [0, 1];
  return [Math.max(Math.min(first, last - 60), last - HISTORY_SECONDS), last];
}
