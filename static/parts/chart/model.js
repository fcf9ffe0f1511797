// @ts-check
// What a chart draws, as data: the same for a broker's last minutes, a world's virtual time and a measured run.

import { firstNot } from "../../common/binary_search.js";

/**
 * How a series looks: colour, dashes and the shape of its points distinguish it.
 * @typedef {{ colour: string, dash: number[], shape: string }} Look the colour is a variable of the theme
 *
 * @typedef {object} Series
 * @property {string} name
 * @property {(number | null | undefined)[]} values one for each place of the x axis; nothing is a gap
 * @property {Look} look
 * @property {"line" | "steps" | "dots"} [kind] steps keep each value until the next; dots are not joined
 * @property {{ low: (number | null)[], high: (number | null)[] }} [band] the range behind each value, a mean
 * @property {number | null} [last] what the legend says while nothing is pointed at: else the last value
 *
 * @typedef {object} AcrossAxis
 * @property {number[]} places in ascending order
 * @property {"clock" | "virtual" | "number"} kind seconds since 1970, microseconds of a world's time, or any number
 * @property {boolean} [isLog]
 * @property {string} [title] what the numbers are
 * @property {Stretch} [range] what is shown; else all of it
 * @property {boolean} [isBare] without its labels: a chart below it has them
 * @property {number} [least] a clock shows at least so many seconds
 *
 * @typedef {object} UprightAxis
 * @property {(value: number | null) => string} print
 * @property {number} [least] it reaches at least as far
 * @property {number} [floor] a logarithmic axis begins there; what is lower stands on it
 * @property {number[]} [ticks] what is marked; else round numbers where there is room
 * @property {boolean} [isWhole] only whole numbers are marked
 * @property {boolean} [cutsSpikes] rare spikes are cut off at the top and labelled
 *
 * A rectangle in the units of the axes, at least some pixels wide.
 * @typedef {{ from: number, to: number, low: number, high: number, colour: string, fill: Fill }} Area
 * @typedef {"strong" | "medium" | "pale" | "lines" | "crosses" | "outline"} Fill
 *
 * Something that happened at one place of the x axis.
 * @typedef {{ at: number, sign: string, text: string }} Mark
 *
 * @typedef {{ from: number, to: number }} Stretch
 *
 * @typedef {object} Chart
 * @property {string} name
 * @property {AcrossAxis} x
 * @property {UprightAxis} y
 * @property {Series[]} series
 * @property {Area[]} [areas]
 * @property {Mark[]} [marks] with an empty list there is room for them
 */

const ROUND = "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z";
const SQUARE = "M-4 -4h8v8h-8z";
const POINTED = "M0 -5l5 9h-10z";
const DIAMOND = "M0 -5l5 5l-5 5l-5 -5z";

/** @type {[string, number[], string][]} */
const LOOKS = [
  ["--plot-in", [], ROUND],
  ["--plot-high", [7, 4], SQUARE],
  ["--plot-out", [2, 4], POINTED],
  ["--line-strong", [12, 3, 2, 3], DIAMOND],
  ["--plot-in", [2, 2], SQUARE],
  ["--plot-high", [14, 4], POINTED],
  ["--plot-out", [], DIAMOND],
  ["--line-strong", [4, 4], ROUND],
  ["--plot-in", [10, 2, 2, 2], POINTED],
  ["--plot-high", [], DIAMOND],
  ["--plot-out", [10, 4], ROUND],
  ["--line-strong", [], SQUARE],
];

/**
 * The looks of the series of a chart, in turn.
 * @param {number} index
 * @returns {Look}
 */
export function lookOf(index) {
  const [colour, dash, shape] = LOOKS[index % LOOKS.length];
  return { colour, dash, shape };
}

/**
 * Lines of [x, y] points as columns over all their places: gaps where a line has no point.
 * @param {[number, number][][]} lines
 */
export function joined(lines) {
  const places = [...new Set(lines.flatMap((points) => points.map(([x]) => x)))].sort((a, b) => a - b);
  const columns = lines.map((points) => {
    const byPlace = new Map(points);
    return places.map((x) => byPlace.get(x));
  });
  return { places, columns };
}

/**
 * The index of the last place that is not after `at`, or -1.
 * @param {number[]} places
 * @param {number} at
 */
export const indexAt = (places, at) => firstNot((/** @type {number} */ place) => place <= at, places) - 1;

/**
 * The place after `at`, or, with `by` -1, the one before; or undefined.
 * @param {number[]} places
 * @param {number} at
 * @param {number} by
 */
export const nextPlace = (places, at, by) =>
  by > 0 ? places.find((place) => place > at) : places.findLast((place) => place < at);
