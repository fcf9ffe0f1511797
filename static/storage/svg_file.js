// @ts-check
// A chart as a file of its own: an SVG that contains its colours and its font.

import { roundStep } from "../common/format.js";
import { numberText, themeOf } from "../parts/chart/options.js";

/** @import { Chart, Look, Series } from "../parts/chart/model.js" */
/** @typedef {(at: number, down: number, words: string, anchor?: string) => string} Write */

const WIDTH = 560;
const HEIGHT = 340;
const AREA = { left: 66, right: WIDTH - 24, top: 44, bottom: HEIGHT - 66 };
const SAMPLE = 190;

/**
 * [value -> pixel, ticks] of one axis.
 *
 * @param {number[]} values
 * @param {boolean | undefined} isLog
 * @param {number} from
 * @param {number} to
 * @returns {[(value: number) => number, number[]]}
 */
export function scaleOf(values, isLog, from, to) {
  const most = Math.max(...values);
  if (!isLog) {
    const step = Number(roundStep((most || 1) / 5));
    const steps = Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
    return [(value) => from + ((to - from) * value) / (most || 1), steps];
  }
  const low = Math.floor(Math.log10(Math.max(Math.min(...values), 0.1)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(most, 0.1))));
  const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));
  return [(value) => from + ((to - from) * (Math.log10(Math.max(value, 0.1)) - low)) / (high - low), ticks];
}

/**
 * @param {Chart} chart
 * @param {string} title
 */
export function svgFile({ x: across, y: upright, series }, title) {
  const { colour, font } = themeOf();
  const isLog = upright.floor !== undefined;
  const values = series.flatMap((one) => one.values.filter((value) => value != null));
  const [x, xTicks] = scaleOf(across.places, across.isLog, AREA.left, AREA.right);
  const [y, yTicks] = scaleOf(values, isLog, AREA.bottom, AREA.top);
  /** @type {Write} */
  const text = (at, down, words, anchor = "middle") =>
    `<text x="${at}" y="${down}" text-anchor="${anchor}" fill="${colour("--text")}">${escaped(words)}</text>`;
  const grid = yTicks.flatMap((tick) => [
    `<path d="M${AREA.left} ${y(tick)}H${AREA.right}" stroke="${colour("--line")}"/>`,
    text(AREA.left - 6, y(tick) + 4, upright.print(tick), "end"),
  ]);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" style="font: ${escaped(font)}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="${colour("--panel")}"/>`,
    text(12, 22, title, "start"),
    ...grid,
    ...xTicks.map((tick) => text(x(tick), AREA.bottom + 17, numberText(tick))),
    text((AREA.left + AREA.right) / 2, AREA.bottom + 36, across.title ?? ""),
    ...series.flatMap((one, index) => [
      ...drawn(one, across.places, x, y, colour(one.look.colour)),
      ...(one.kind === "dots" ? [] : sample(one, AREA.left + index * SAMPLE, text, colour(one.look.colour))),
    ]),
    "</svg>\n",
  ].join("\n");
}

/** @param {string} text */
const escaped = (text) =>
  String(text).replace(/[&<>"]/g, (sign) => `&${{ "&": "amp", "<": "lt", ">": "gt", '"': "quot" }[sign]};`);

/**
 * The line, and its points in their shape.
 * @param {Series} series
 * @param {number[]} places
 * @param {(value: number) => number} x
 * @param {(value: number) => number} y
 * @param {string} colour
 */
function drawn({ values, look, kind }, places, x, y, colour) {
  const points = places.flatMap((place, at) => {
    const value = values[at];
    return value == null ? [] : [[x(place), y(value)]];
  });
  const rounded = points.map((pair) => pair.map((value) => value.toFixed(1)));
  const size = kind === "dots" ? " scale(.4)" : "";
  /** @param {string[]} point */
  const dot = ([px, py]) => `<path d="${look.shape}" fill="${colour}" transform="translate(${px} ${py})${size}"/>`;
  const line = `<path d="M${rounded.map((pair) => pair.join(" ")).join("L")}" ${strokeOf(look, colour)}/>`;
  return [...(kind === "dots" ? [] : [line]), ...rounded.map(dot)];
}

/** @param {Look} look @param {string} colour */
const strokeOf = (look, colour) =>
  `fill="none" stroke="${colour}" stroke-width="2.5" stroke-dasharray="${look.dash.join(" ")}"`;

/** @param {Series} series @param {number} left @param {Write} text @param {string} colour */
function sample({ name, look }, left, text, colour) {
  const down = HEIGHT - 14;
  return [
    `<path d="M${left} ${down}h30" ${strokeOf(look, colour)}/>`,
    `<path d="${look.shape}" fill="${colour}" transform="translate(${left + 15} ${down})"/>`,
    text(left + 36, down + 4, name, "start"),
  ];
}
