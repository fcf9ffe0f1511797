// @ts-check
// What is painted onto a chart besides its lines: areas behind them, spikes that were cut off, marks of events.

import { spikesOf } from "./scale.js";

/** @import { Chart, Fill } from "./model.js" */
/** @import { Theme } from "./options.js" */
/** @import uPlot from "uplot" */

/** An area is drawn at least so wide: most last some milliseconds of a story of minutes. */
const SLIVER_PX = 2;
const MARK_DASH = [2, 3];
const HATCH_PX = 8;

/** @type {Record<Fill, number>} of 255: how strong the ground of an area is */
const GROUNDS = { strong: 0xd8, medium: 0x60, pale: 0x34, lines: 0x2e, crosses: 0x40, outline: 0 };

/** The room above a chart for the signs of its marks. @param {Theme} theme */
export const markPixels = ({ size }) => 1.5 * size;

/** @param {number} alpha */
const hex = (alpha) => alpha.toString(16).padStart(2, "0");

/**
 * @param {uPlot} plot
 * @param {Chart} chart
 * @param {Theme} theme
 */
export function paintAreas(plot, { areas = [] }, theme) {
  const { ctx, bbox } = plot;
  const at = (/** @type {number} */ value) => Math.round(plot.valToPos(value, "x", true));
  const [first, last] = [bbox.left, bbox.left + bbox.width];
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const { from, to, low, high, colour, fill } of areas) {
    const [left, right] = [Math.max(first, at(from)), Math.min(last, at(to))];
    if (right < first || left > last || low === high) continue;
    const [bottom, top] = [low, high].map((value) => plot.valToPos(value, "y", true));
    const width = Math.max(SLIVER_PX * devicePixelRatio, right - left);
    const shade = theme.colour(colour);
    const box = /** @type {const} */ ([left, Math.min(top, bottom), width, Math.abs(bottom - top)]);
    ctx.fillStyle = shade + hex(GROUNDS[fill]);
    ctx.fillRect(...box);
    if (fill === "lines" || fill === "crosses") {
      ctx.fillStyle = hatch(ctx, fill, shade);
      ctx.fillRect(...box);
    }
    if (!["pale", "medium"].includes(fill)) {
      ctx.strokeStyle = shade;
      ctx.lineWidth = 0.8 * devicePixelRatio;
      ctx.setLineDash(fill === "outline" ? [3 * devicePixelRatio, 2 * devicePixelRatio] : []);
      ctx.strokeRect(...box);
    }
  }
  ctx.restore();
}

/**
 * Lines from the lower left to the upper right, with `crosses` also the others.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Fill} fill
 * @param {string} colour
 */
function hatch(ctx, fill, colour) {
  const size = HATCH_PX * devicePixelRatio;
  const tile = new OffscreenCanvas(size, size);
  const drawn = /** @type {OffscreenCanvasRenderingContext2D} */ (tile.getContext("2d"));
  drawn.strokeStyle = colour + hex(0xb0);
  drawn.lineWidth = (fill === "crosses" ? 1.2 : 2) * devicePixelRatio;
  for (const shift of [-size, 0, size]) {
    drawn.moveTo(shift - 1, size + 1);
    drawn.lineTo(shift + size + 1, -1);
    if (fill === "crosses") {
      drawn.moveTo(shift - 1, -1);
      drawn.lineTo(shift + size + 1, size + 1);
    }
  }
  drawn.stroke();
  return /** @type {CanvasPattern} */ (ctx.createPattern(tile, "repeat"));
}

/**
 * A dashed line over the whole height for each mark, with its sign above where there is room.
 * @param {uPlot} plot
 * @param {Chart} chart
 * @param {Theme} theme
 */
export function paintMarks(plot, { marks = [] }, theme) {
  if (marks.length === 0) return;
  const { ctx, bbox } = plot;
  const { min = 0, max = 0 } = plot.scales.x;
  let taken = -Infinity;
  withText(ctx, theme, theme.colour("--text"));
  ctx.textBaseline = "bottom";
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash(MARK_DASH.map((length) => length * devicePixelRatio));
  for (const { at, sign } of marks) {
    if (at < /** @type {number} */ (min) || at > /** @type {number} */ (max)) continue;
    const x = Math.floor(plot.valToPos(at, "x", true)) + 0.5; // on pixels, not between two
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const half = ctx.measureText(sign).width / 2;
    if (x - half < taken) continue;
    ctx.fillText(sign, x - half, bbox.top - devicePixelRatio);
    taken = x + half + devicePixelRatio;
  }
  ctx.restore();
}

/**
 * "▲ 12,000" at the top where a spike was cut off; the highest of those that would overlap.
 * @param {uPlot} plot
 * @param {Chart} chart
 * @param {Theme} theme
 */
export function paintSpikes(plot, { x: { places }, y, series }, theme) {
  const { ctx, bbox, scales } = plot;
  const spikes = series
    .flatMap(({ values, band }) => spikesOf(band?.high ?? values, scales.y.max ?? Infinity))
    .sort((a, b) => b.value - a.value);
  /** @type {[number, number][]} */
  const taken = [];
  withText(ctx, theme, theme.colour("--plot-high"));
  ctx.textBaseline = "top";
  ctx.strokeStyle = theme.colour("--panel"); // lines of the plot do not cross the letters
  ctx.lineWidth = 4 * devicePixelRatio;
  for (const { index, value } of spikes) {
    const text = `▲ ${y.print(value)}`;
    const { width } = ctx.measureText(text);
    const x = plot.valToPos(places[index], "x", true);
    const left = Math.min(Math.max(x - width / 2, bbox.left), bbox.left + bbox.width - width);
    if (taken.some(([from, to]) => left < to && left + width > from)) continue;
    taken.push([left - theme.size, left + width + theme.size]);
    ctx.strokeText(text, left, bbox.top + 2);
    ctx.fillText(text, left, bbox.top + 2);
  }
  ctx.restore();
}

/**
 * Saves the state of the context: the caller restores it.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Theme} theme
 * @param {string} colour
 */
function withText(ctx, { font, size }, colour) {
  ctx.save();
  ctx.font = `600 ${font.replace(/^[\d.]+px/, `${size * devicePixelRatio}px`)}`;
  ctx.textAlign = "left";
  [ctx.fillStyle, ctx.strokeStyle] = [colour, colour];
}
