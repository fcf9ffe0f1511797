// Numbers over time, or over another number: of the micro-batches, and those that a job reports itself.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { clockTime, compact, milliseconds } from "../common/format.js";
import { t } from "../common/i18n.js";
import { inLanguage } from "./runs.js";

const HEIGHT = 190;
/** Lines of a plot in turn: a colour and dashes, so that none is told apart by colour alone. */
const LINES = [
  ["--plot-in", []],
  ["--plot-out", [7, 4]],
  ["--plot-high", [2, 4]],
  ["--line-strong", [12, 3, 2, 3]],
  ["--plot-in", [2, 2]],
  ["--plot-out", [14, 4]],
  ["--plot-high", []],
  ["--line-strong", [4, 4]],
  ["--plot-in", [10, 2, 2, 2]],
  ["--plot-out", []],
  ["--plot-high", [10, 4]],
  ["--line-strong", []],
];

export function BatchPlots({ batches }) {
  const times = batches.map((batch) => Date.parse(batch.at) / 1000);
  const columns = (...names) => [times, ...names.map((name) => batches.map((batch) => batch[name]))];
  return html`<section class="panel" aria-labelledby="batches-title">
    <header class="panel-head"><h3 class="panel-title" id="batches-title">${t("pipeline.batches")}</h3></header>
    <div class="plots">
      <${Plot}
        title=${t("pipeline.plot.rates")}
        unit=${t("pipeline.plot.rates_unit")}
        isTime=${true}
        print=${compact}
        names=${[t("pipeline.figure.input"), t("pipeline.figure.processed")]}
        data=${columns("input_rows_per_s", "processed_rows_per_s")}
      />
      <${Plot}
        title=${t("pipeline.plot.duration")}
        unit=""
        isTime=${true}
        print=${(value) => milliseconds(value === null ? null : Math.round(value))}
        names=${[t("pipeline.figure.duration")]}
        data=${columns("total_ms")}
      />
    </div>
  </section>`;
}

export function JobPlots({ job, plots }) {
  const shown = job.plots.filter(({ name }) => plots[name]);
  if (shown.length === 0) return null;
  return html`<section class="panel" aria-labelledby="plots-title">
    <header class="panel-head"><h3 class="panel-title" id="plots-title">${t("pipeline.plots")}</h3></header>
    <div class="plots">
      ${shown.map(
        (plot) => html`<${Plot}
          key=${plot.name}
          title=${inLanguage(plot.title)}
          unit=${unitText(plot.unit)}
          isTime=${plot.x_title === null}
          xTitle=${inLanguage(plot.x_title)}
          print=${compactOf}
          names=${Object.keys(plots[plot.name]).map((name) => seriesName(plot, name))}
          data=${joined(plots[plot.name], plot.x_title === null)}
        />`,
      )}
    </div>
  </section>`;
}

/** Words of the job's own in the page's language; names of topics and groups as they are. */
const seriesName = ({ series_texts: texts }, name) => (Object.hasOwn(texts, name) ? inLanguage(texts[name]) : name);

/** Units as jobs write them; those that say no more than the title are left out. */
function unitText(unit) {
  if (["1", "x", "money"].includes(unit)) return "";
  const key = { messages: "pipeline.unit.messages", "messages/s": "pipeline.plot.messages_unit" }[unit];
  return key ? t(key) : unit;
}

/** Figures below ten thousand keep their fractions. */
const compactOf = (value) =>
  value === null || Math.abs(value) >= 100 || Number.isInteger(value)
    ? compact(value)
    : String(Number(value.toPrecision(3)));

/** Lines of [x, y] points as columns over all their x, gaps where a line has no point there. */
function joined(lines, isTime) {
  const scale = isTime ? 1000 : 1;
  const places = [...new Set(Object.values(lines).flatMap((points) => points.map(([x]) => x)))].sort((a, b) => a - b);
  const columns = Object.values(lines).map((points) => {
    const byPlace = new Map(points);
    return places.map((x) => byPlace.get(x));
  });
  return [places.map((x) => x / scale), ...columns];
}

function Plot({ title, unit, names, data, print, isTime, xTitle }) {
  const place = useRef(null);
  const chart = useRef(null);
  const latest = useRef(data);
  latest.current = data;
  // Colours and widths are read when it is drawn: again when the theme changes, or another line comes.
  useEffect(() => {
    const canvas = place.current;
    const rebuild = () => {
      chart.current?.destroy();
      chart.current = new uPlot(options(canvas, { names, print, isTime }), latest.current, canvas);
    };
    const sizes = new ResizeObserver(() => chart.current?.setSize({ width: canvas.clientWidth, height: HEIGHT }));
    rebuild();
    sizes.observe(canvas);
    addEventListener("themechange", rebuild);
    return () => {
      sizes.disconnect();
      removeEventListener("themechange", rebuild);
      chart.current.destroy();
      chart.current = null;
    };
  }, [names.join("\n")]);
  useEffect(() => chart.current?.setData(data), [data]);
  const lasts = names.map((_, index) => data[index + 1].findLast((value) => value != null) ?? null);
  const summary = names.map((name, index) => `${name} ${print(lasts[index])}`).join(t("text.list_separator"));
  return html`<figure class="plot">
    <figcaption>
      <strong>${title}</strong> <span class="quiet">${[unit, xTitle].filter(Boolean).join(" · ")}</span>
    </figcaption>
    <div class="plot-canvas" ref=${place} role="img" aria-label=${`${title}: ${summary}`}></div>
    <ul class="plot-legend" role="list">
      ${names.map(
        (name, index) => html`<li key=${name}>
          <svg width="26" height="8" aria-hidden="true">
            <line
              x1="0"
              x2="26"
              y1="4"
              y2="4"
              stroke=${`var(${lineOf(index)[0]})`}
              stroke-width="3"
              stroke-dasharray=${lineOf(index)[1].join(" ")}
            />
          </svg>
          <span>${name}</span> <strong class="number">${print(lasts[index])}</strong>
        </li>`,
      )}
    </ul>
  </figure>`;
}

const lineOf = (index) => LINES[index % LINES.length];

/** At least so many seconds, so that a few points do not fill the axis with one and the same time. */
const LEAST_SECONDS = 8;

function timeRange(chart, first, last) {
  if (first == null) return [0, 1];
  // uPlot would give a single point the whole day.
  if (chart.data[0].length === 1) last = first;
  const missing = Math.max(0, LEAST_SECONDS - (last - first)) / 2;
  return [first - missing, last + missing];
}

/** A place alone stands in the middle. */
function placeRange(chart, first, last) {
  if (first == null) return [0, 1];
  return chart.data[0].length === 1 || first === last ? [first - 1, last + 1] : [first, last];
}

function options(place, { names, print, isTime }) {
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
  const label = isTime ? (value) => clockTime(value * 1000) : compactOf;
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: isTime, range: isTime ? timeRange : placeRange },
      y: { range: (_, least, most) => [Math.min(0, least ?? 0), Math.max(1, (most ?? 0) * 1.1)] },
    },
    axes: [
      { ...axis, values: (_, values) => values.map(label), space: 75, size: 34 },
      { ...axis, values: (_, values) => values.map(print), size: 64 },
    ],
    series: [
      {},
      ...names.map((name, index) => ({
        label: name,
        stroke: colour(lineOf(index)[0]),
        width: 2,
        dash: lineOf(index)[1],
        spanGaps: true,
        points: { show: (_, __, first, last) => last - first < 40, size: 5 },
      })),
    ],
  };
}
