// One plot on its canvas: a line for the mean, behind it a band from the lowest to the highest second of each point,
// and the names of spikes that were cut off. All plots share the crosshair, and a stretch marked in one zooms all.

import uPlot from "uplot";
import { clockTime } from "../../../common/format.js";
import { signal } from "@preact/signals";
import { shown, zoom, zoomTo } from "./plot_range.js";
import { aloneIn, powerAbove, powersOfTen, roofOf, spikesOf, STEPS } from "./plot_scale.js";

/** Index of the point under the pointer, in whichever plot it is; null: it is in none. */
export const pointed = signal(null);
/** Are spikes shown whole, at the cost of all else? */
export const wholeSpikes = signal(false);

const CROSSHAIR = "live-plots";
const BAND_ALPHA = "38"; // of 255, as hexadecimal digits behind a colour
const SHORT_TIMES_S = 2 * 3600;

/** Draws `plot` into `place`, again in other colours when the theme changes; returns what ends it. */
export function drawWhileShown(place, plot) {
  let chart = null;
  const rebuild = () => {
    chart?.destroy();
    chart = new uPlot(options(place, plot), columnsOf(plot, shown.peek()), place);
  };
  let isSeen = false;
  const redraw = () => isSeen && chart?.setData(columnsOf(plot, shown.peek()));
  const show = (seen = true) => {
    isSeen = seen;
    redraw();
  };
  const endings = [shown.subscribe(redraw), wholeSpikes.subscribe(redraw)];
  const keys = (event) => {
    if (!isSeen) show(); // the keys came before the news of it
    walk(chart, event);
  };
  const sizes = new ResizeObserver(() => chart.setSize(sizeOf(place)));
  rebuild();
  sizes.observe(place);
  // What is out of view is drawn when it comes into view.
  const sight = new IntersectionObserver((entries) => show(entries.at(-1).isIntersecting));
  sight.observe(place);
  addEventListener("themechange", rebuild);
  place.addEventListener("keydown", keys);
  return () => {
    place.removeEventListener("keydown", keys);
    endings.forEach((end) => end());
    sizes.disconnect();
    sight.disconnect();
    removeEventListener("themechange", rebuild);
    chart.destroy();
  };
}

const sizeOf = (place) => ({ width: place.clientWidth, height: place.clientHeight });

/** The values of one series: mean, highest, lowest. Whatever is below the floor of a logarithmic axis stands on it. */
function columnsOf({ series, floor }, { seconds, measures }) {
  const raised = (value) => (value === null || floor === undefined ? value : Math.max(floor, value));
  const column = (name, of) => (measures[name]?.[of] ?? seconds.map(() => null)).map(raised);
  return [seconds, ...series.flatMap(([name]) => ["mean", "max", "min"].map((of) => column(name, of)))];
}

function options(place, plot) {
  const styles = getComputedStyle(document.documentElement);
  const colour = (variable) => styles.getPropertyValue(variable).trim();
  const fontSize = colour("--plot-font-size") || "12px";
  const font = `${fontSize} ${getComputedStyle(document.body).fontFamily}`;
  const axis = {
    stroke: colour("--text-quiet"),
    font,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), size: 4 },
  };
  const isLog = plot.floor !== undefined;
  const label = (value) => (isLog && value === plot.floor ? `≤ ${plot.print(value)}` : plot.print(value));
  return {
    ...sizeOf(place),
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false },
      sync: { key: CROSSHAIR, scales: ["x", null] },
      points: { show: false },
    },
    scales: { x: { time: true, range: xRange }, y: isLog ? logarithmic(plot) : linear(plot) },
    axes: [
      { ...axis, values: timesOf, space: 70, size: 10 + 1.6 * parseFloat(fontSize) },
      {
        ...axis,
        values: (_, values) => values.map(label),
        size: 4 + 5.2 * parseFloat(fontSize),
        ...(isLog ? { splits: powersOfTen, filter: (_, splits) => splits } : { incrs: STEPS }),
      },
    ],
    series: [{}, ...plot.series.flatMap(([, variable, dash]) => seriesOf(colour(variable), dash))],
    bands: plot.series.map((_, number) => ({ series: [3 * number + 2, 3 * number + 3] })),
    hooks: {
      setCursor: [(chart) => (pointed.value = chart.cursor.idx ?? null)],
      setSelect: [(chart) => mark(chart)],
      draw: isLog ? [] : [(chart) => nameSpikes(chart, plot, font, colour("--plot-high"))],
    },
  };
}

function seriesOf(stroke, dash) {
  const edge = { stroke: "transparent", width: 0, points: { show: false }, spanGaps: false };
  return [
    { stroke, width: 2, dash, points: { size: 7, width: 0, fill: stroke, filter: alone }, spanGaps: false },
    { ...edge, fill: stroke + BAND_ALPHA },
    edge,
  ];
}

/** Of values between two gaps no line is drawn: each is a dot. */
const alone = (chart, series) => aloneIn(chart.data[series]);

const highest = (chart) => chart.data.filter((_, index) => index % 3 === 2);

const linear = ({ least }) => ({ range: (chart) => [0, roofOf(highest(chart), least, wholeSpikes.peek())] });

const logarithmic = ({ floor, least }) => ({
  distr: 3,
  log: 10,
  range: (chart) => [floor, powerAbove(highest(chart), least)],
});

/** At least a minute, so that a broker that has just started does not stretch its first seconds. */
function xRange(_, first, last) {
  if (first == null) return [0, 1];
  return [Math.min(first, last - 60), last];
}

function timesOf(chart, seconds) {
  const isLong = chart.scales.x.max - chart.scales.x.min > SHORT_TIMES_S;
  return seconds.map((second) => clockTime(second * 1000).slice(0, isLong ? 5 : 8));
}

/** Left and right move the crosshair, + zooms in where it stands, - and Escape zoom out. */
function walk(chart, event) {
  const [seconds] = chart.data;
  const { min, max } = chart.scales.x;
  if (seconds.length === 0 || event.ctrlKey || event.altKey || event.metaKey) return;
  const at = Math.min(pointed.peek() ?? seconds.length - 1, seconds.length - 1);
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step) {
    const next = seconds[Math.max(0, Math.min(seconds.length - 1, at + step))];
    chart.setCursor({ left: chart.valToPos(next, "x"), top: 1 });
  } else if (event.key === "+") zoomTo(seconds[at] - (max - min) / 6, seconds[at] + (max - min) / 6);
  else if (event.key === "-" || event.key === "Escape") zoom.value = null;
  else return;
  event.preventDefault();
}

function mark(chart) {
  const { left, width } = chart.select;
  if (width === 0) return;
  zoomTo(chart.posToVal(left, "x"), chart.posToVal(left + width, "x"));
  chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

/** "▲ 12,000" at the top where a spike was cut off; the highest of those that would overlap. */
function nameSpikes(chart, plot, font, colour) {
  const { ctx, bbox, data, scales } = chart;
  const spikes = highest(chart)
    .flatMap((values) => spikesOf(values, scales.y.max))
    .sort((a, b) => b.value - a.value);
  const taken = [];
  ctx.save();
  const [, size, family] = /^([\d.]+)px (.*)$/.exec(font);
  ctx.font = `600 ${size * devicePixelRatio}px ${family}`;
  [ctx.textBaseline, ctx.textAlign] = ["top", "left"];
  ctx.fillStyle = colour;
  for (const { index, value } of spikes) {
    const text = `▲ ${plot.print(value)}`;
    const { width } = ctx.measureText(text);
    const x = chart.valToPos(data[0][index], "x", true);
    const left = Math.min(Math.max(x - width / 2, bbox.left), bbox.left + bbox.width - width);
    if (taken.some(([from, to]) => left < to && left + width > from)) continue;
    taken.push([left - size, left + width + Number(size)]);
    ctx.fillText(text, left, bbox.top + 2);
  }
  ctx.restore();
}
