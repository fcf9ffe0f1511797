// @ts-check
// What uPlot draws of a chart: its axes, its lines and the hooks that paint the rest.

import { clockTime, compact } from "../../common/format.js";
import { markPixels, paintAreas, paintMarks, paintSpikes } from "./paint.js";
import { acrossRange, aloneIn, CLOCK_STEPS, labelRoom, powerAbove, powersOfTen, roofOf, STEPS } from "./scale.js";

/** @import { Chart, Series } from "./model.js" */
/** @import uPlot from "uplot" */

const BAND_ALPHA = "38"; // of 255, as hexadecimal digits behind a colour
const SHORT_TIMES_S = 2 * 3600;
/** With more points than this, only those that no line reaches are marked. */
const POINTS_MOST = 30;
const POINT_PX = 8;

/** What the theme says: read again when it changes. */
export function themeOf() {
  const styles = getComputedStyle(document.documentElement);
  const colour = (/** @type {string} */ variable) => styles.getPropertyValue(variable).trim();
  const size = parseFloat(colour("--plot-font-size") || "12px");
  return { colour, size, font: `${size}px ${getComputedStyle(document.body).fontFamily}` };
}

/** @typedef {ReturnType<typeof themeOf>} Theme */

/**
 * The places, and for each series its values, then the edges of its band. What is below the floor stands on it.
 * @param {Chart} chart
 */
export function columnsOf({ x, y: { floor }, series }) {
  const raised = (/** @type {number | null | undefined} */ value) =>
    value == null || floor === undefined ? value : Math.max(floor, value);
  const columns = series.flatMap(({ values, band }) => (band ? [values, band.high, band.low] : [values]));
  return /** @type {uPlot.AlignedData} */ ([x.places, ...columns.map((column) => column.map(raised))]);
}

/**
 * @param {uPlot} library its path builders
 * @param {() => Chart} chart as it is now
 * @param {Theme} theme
 * @param {{ sync?: string, canZoom: boolean }} wishes
 * @returns {Omit<uPlot.Options, "width" | "height">}
 */
export function optionsOf(library, chart, theme, { sync, canZoom }) {
  const { x, y, series, marks } = chart();
  const axis = {
    stroke: theme.colour("--text-quiet"),
    font: theme.font,
    grid: { stroke: theme.colour("--line"), width: 1 },
    ticks: { stroke: theme.colour("--line"), size: 4 },
  };
  return {
    legend: { show: false },
    padding: [marks ? markPixels(theme) : null, 2.2 * theme.size, null, null],
    cursor: {
      y: false,
      drag: { x: canZoom, y: false, setScale: false },
      points: { show: false },
      ...(sync ? { sync: { key: sync, scales: ["x", null] } } : {}),
    },
    scales: {
      x: { time: x.kind === "clock", ...(x.isLog ? { distr: 3, log: 10 } : {}), range: () => acrossRange(chart().x) },
      y: y.floor === undefined ? { range: () => straight(chart()) } : logarithmic(chart),
    },
    axes: [
      {
        ...axis,
        ...(x.kind === "number" ? {} : { incrs: x.kind === "clock" ? CLOCK_STEPS : STEPS }),
        ...(x.isLog ? { splits: powersOfTen, filter: (_, splits) => splits } : {}),
        values: x.isBare || x.places.length === 0 ? () => [] : acrossLabels(x.kind),
        ...(x.title ? { label: x.title, labelFont: theme.font, labelSize: 1.5 * theme.size, labelGap: 2 } : {}),
        space: 6 * theme.size,
        size: x.isBare ? 4 : 10 + 1.6 * theme.size,
      },
      {
        ...axis,
        values: (_, values) => values.map((value) => uprightLabel(chart(), value)),
        size: (drawn, labels) => labelRoom(labels ?? [], (text) => widthOf(drawn.ctx, theme.font, text), theme.size),
        ...(y.floor === undefined
          ? { ...(y.isWhole ? { incrs: STEPS } : {}), ...(y.ticks ? { splits: () => chart().y.ticks ?? [] } : {}) }
          : { splits: powersOfTen, filter: (/** @type {uPlot} */ _, /** @type {number[]} */ splits) => splits }),
      },
    ],
    series: [{}, ...series.flatMap((one) => linesOf(library, one, theme))],
    bands: bandsOf(series),
    hooks: {
      drawAxes: [(drawn) => paintAreas(drawn, chart(), theme)],
      draw: [
        (drawn) => {
          if (y.cutsSpikes) paintSpikes(drawn, chart(), theme);
          paintMarks(drawn, chart(), theme);
        },
      ],
    },
  };
}

/** @param {Chart} chart */
const highestOf = ({ series, areas = [] }) => [
  ...series.map(({ values, band }) => band?.high ?? values.map((value) => value ?? null)),
  areas.map(({ low, high }) => Math.max(low, high)),
];

/**
 * @param {Chart} chart
 * @returns {[number, number]}
 */
function straight(chart) {
  const { least = 1, cutsSpikes } = chart.y;
  const lowest = chart.series.reduce((low, { values }) => Math.min(low, ...values.map((value) => value ?? 0)), 0);
  return [lowest, roofOf(highestOf(chart), least, !cutsSpikes)];
}

/**
 * In pixels of the page; the canvas may have others.
 *
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} font
 * @param {string} text
 */
function widthOf(ctx, font, text) {
  ctx.save();
  ctx.font = font;
  const { width } = ctx.measureText(text);
  ctx.restore();
  return width;
}

/**
 * @param {() => Chart} chart
 * @returns {uPlot.Scale}
 */
const logarithmic = (chart) => ({
  distr: 3,
  log: 10,
  range: () => {
    const { floor = 1, least = 1 } = chart().y;
    return [floor, powerAbove(highestOf(chart()), least)];
  },
});

/**
 * @param {Chart} chart
 * @param {number} value
 */
function uprightLabel({ y, series }, value) {
  const { floor, print } = y;
  const isBelow = () => series.some(({ values }) => values.some((one) => one != null && one < (floor ?? 0)));
  return value === floor && isBelow() ? `≤ ${print(value)}` : print(value);
}

/**
 * @param {Chart["x"]["kind"]} kind
 * @returns {uPlot.Axis.DynamicValues}
 */
function acrossLabels(kind) {
  if (kind === "number") return (_, values) => values.map(numberText);
  if (kind === "virtual") return (_, values, __, ___, step) => values.map((time) => secondsText(time, step));
  return ({ scales }, seconds) => {
    const isLong = (scales.x.max ?? 0) - (scales.x.min ?? 0) > SHORT_TIMES_S;
    return seconds.map((second) => clockTime(second * 1e6).slice(0, isLong ? 5 : 8));
  };
}

/**
 * Figures below a hundred keep their fractions.
 * @param {number | null} value
 */
export const numberText = (value) =>
  value === null || Math.abs(value) >= 100 || Number.isInteger(value)
    ? compact(value)
    : String(Number(value.toPrecision(3)));

/**
 * Seconds with as many digits as the step needs.
 * @param {number} time
 * @param {number} step
 */
const secondsText = (time, step) =>
  `${(time / 1e6).toFixed(Math.max(0, Math.ceil(6 - Math.log10(Math.max(1, step)))))} s`;

/**
 * @param {any} library
 * @param {Series} series
 * @param {Theme} theme
 * @returns {uPlot.Series[]}
 */
function linesOf(library, { look, kind = "line", band }, theme) {
  const stroke = theme.colour(look.colour);
  const edge = { stroke: "transparent", width: 0, points: { show: false }, spanGaps: false };
  const isDots = kind === "dots";
  const line = {
    stroke,
    width: 2.2,
    dash: look.dash,
    spanGaps: !band,
    ...(kind === "steps" ? { paths: library.paths.stepped({ align: 1 }) } : {}),
    ...(isDots ? { paths: () => null } : {}),
    points: kind === "steps" ? { show: false } : pointsOf(look.shape, isDots, stroke),
  };
  return band ? [line, { ...edge, fill: stroke + BAND_ALPHA }, edge] : [line];
}

/**
 * Marks of the points, in their shape.
 * @param {string} shape
 * @param {boolean} isDots
 * @param {string} colour
 * @returns {uPlot.Series.Points}
 */
function pointsOf(shape, isDots, colour) {
  const drawn = new Path2D(shape);
  const factor = ((isDots ? 0.4 : 1) * POINT_PX * devicePixelRatio) / 9;
  return {
    show: true,
    size: POINT_PX,
    width: 0,
    fill: colour,
    filter: (plot, series) => {
      const values = /** @type {(number | null)[]} */ (plot.data[series]);
      const all = [...values.keys()].filter((at) => values[at] != null);
      return isDots || all.length <= POINTS_MOST ? all : aloneIn(values);
    },
    paths: (plot, series, _, __, indices) => {
      const fill = new Path2D();
      for (const at of indices ?? []) {
        const [x, y] = [plot.data[0][at], /** @type {number} */ (plot.data[series][at])];
        const { min = x, max = x } = plot.scales.x;
        if (x < /** @type {number} */ (min) || x > /** @type {number} */ (max)) continue;
        const place = new DOMMatrix([factor, 0, 0, factor, plot.valToPos(x, "x", true), plot.valToPos(y, "y", true)]);
        fill.addPath(drawn, place);
      }
      return { fill, stroke: null, flags: 3 };
    },
  };
}

/**
 * Between the edges of each band; the columns are those of `columnsOf`.
 * @param {Series[]} series
 */
function bandsOf(series) {
  let column = 0;
  return series.flatMap(({ band }) => {
    column += band ? 3 : 1;
    return band ? [{ series: /** @type {[number, number]} */ ([column - 1, column]) }] : [];
  });
}
