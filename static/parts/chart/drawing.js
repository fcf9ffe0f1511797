// @ts-check
// A chart on its canvas, drawn by uPlot, from the moment it is shown until it goes: it follows its data, its size, the
// theme, the pointer and the keys. The library is loaded with the first chart of a page.

import { indexAt, nextPlace } from "./model.js";
import { columnsOf, optionsOf, themeOf } from "./options.js";

/** @import { Chart, Stretch } from "./model.js" */
/** @import { Signal } from "@preact/signals" */
/** @import uPlot from "uplot" */

/** Pixels from a point within which the cursor stands on it. */
const SNAP_PX = 1;

/**
 * What a chart may do besides being drawn.
 * @typedef {object} Wishes
 * @property {Signal<number | null>} cursor the place that is pointed at; those who share one have the same `sync`
 * @property {string} [sync] charts with the same name share the crosshair
 * @property {(stretch: Stretch | null) => void} [onZoom] asked for a stretch of the x axis, or for all of it
 */

/** Whatever makes uPlot draw other lines than before: then it begins again. @param {Chart} chart */
const formOf = ({ x, y, series }) =>
  JSON.stringify([
    x.kind,
    x.isLog,
    x.places.length === 0,
    y.floor === undefined,
    series.map(({ look, kind, band }) => [look, kind, !band]),
  ]);

export class Drawing {
  /** @type {uPlot | undefined} */
  #plot;
  /** @type {any} */
  #library;
  #isSeen = false;
  #ended = new AbortController();
  #sizes = new ResizeObserver(() => this.#resize());
  // What is out of view is drawn when it comes into view.
  #sight = new IntersectionObserver((entries) => this.#see(entries[entries.length - 1].isIntersecting));

  /**
   * @param {HTMLElement} place
   * @param {Chart} chart
   * @param {Wishes} wishes
   */
  constructor(place, chart, wishes) {
    this.place = place;
    this.chart = chart;
    this.wishes = wishes;
    const { signal } = this.#ended;
    place.addEventListener("keydown", (event) => this.#walk(event), { signal });
    addEventListener("themechange", () => this.#rebuild(), { signal });
    this.#begin();
  }

  async #begin() {
    this.#library = (await import("uplot")).default;
    if (this.#ended.signal.aborted) return;
    this.#sizes.observe(this.place); // which tells the first size too
    this.#sight.observe(this.place);
  }

  end() {
    this.#ended.abort();
    this.#sizes.disconnect();
    this.#sight.disconnect();
    this.#plot?.destroy();
  }

  /** @param {Chart} chart */
  update(chart) {
    const isOther = formOf(chart) !== formOf(this.chart);
    this.chart = chart;
    if (isOther) this.#rebuild();
    else if (this.#isSeen) this.#redraw();
  }

  #redraw() {
    this.#plot?.setData(columnsOf(this.chart));
    if (this.chart.x.range) this.#stand();
  }

  /** @param {boolean} isSeen */
  #see(isSeen) {
    this.#isSeen = isSeen;
    if (isSeen) this.#redraw();
  }

  #size() {
    return { width: this.place.clientWidth, height: this.place.clientHeight };
  }

  #resize() {
    if (this.#plot) this.#plot.setSize(this.#size());
    else this.#rebuild();
  }

  #rebuild() {
    this.#plot?.destroy();
    this.#plot = undefined;
    if (!this.#library || this.place.clientWidth === 0) return;
    const { sync, onZoom } = this.wishes;
    const options = optionsOf(this.#library, () => this.chart, themeOf(), { sync, canZoom: Boolean(onZoom) });
    options.hooks = {
      ...options.hooks,
      setCursor: [(plot) => this.#point(plot)],
      setSelect: [(plot) => this.#select(plot)],
    };
    this.#plot = new this.#library({ ...this.#size(), ...options }, columnsOf(this.chart), this.place);
    this.#stand();
  }

  /** On a point, or, between two steps, anywhere: the value there is that of the step before. @param {uPlot} plot */
  #point(plot) {
    const { left = -1, idx } = plot.cursor;
    const { places } = this.chart.x;
    const { cursor } = this.wishes;
    if (left < 0 || idx == null) {
      cursor.value = null;
      return;
    }
    const isStepped = this.chart.series[0]?.kind === "steps";
    const isNear = Math.abs(plot.valToPos(places[idx], "x") - left) <= SNAP_PX;
    const last = places[places.length - 1];
    cursor.value = isStepped && !isNear ? Math.min(last, Math.max(0, plot.posToVal(left, "x"))) : places[idx];
  }

  /** Puts the crosshair where the cursor is: the axis below it may have moved. */
  #stand() {
    const at = this.wishes.cursor.peek();
    if (at !== null && this.#plot) this.#plot.setCursor({ left: this.#plot.valToPos(at, "x"), top: 1 });
  }

  /** @param {uPlot} plot */
  #select(plot) {
    const { left, width } = plot.select;
    if (width === 0) return;
    this.wishes.onZoom?.({ from: plot.posToVal(left, "x"), to: plot.posToVal(left + width, "x") });
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  /** Left and right move the crosshair, + and - change what is shown around it, Escape and Home show all again. */
  #walk(/** @type {KeyboardEvent} */ event) {
    if (!this.#plot || event.ctrlKey || event.altKey || event.metaKey) return;
    if (!this.#isSeen) this.#see(true); // the keys came before the news of it
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const factor = { "+": 1 / 2, "=": 1 / 2, "-": 2 }[event.key];
    if (step) this.#move(this.#plot, step);
    else if (factor) this.#zoom(this.#plot, factor);
    else if (event.key === "Home" || event.key === "Escape") {
      this.wishes.cursor.value = null;
      this.#plot.setCursor({ left: -10, top: -10 });
      this.wishes.onZoom?.(null);
    } else return;
    event.preventDefault();
  }

  /**
   * To the next point; what is shown follows.
   * @param {uPlot} plot
   * @param {number} step
   */
  #move(plot, step) {
    const { min = 0, max = 0 } = plot.scales.x;
    const [from, to] = [Number(min), Number(max)];
    const { cursor, onZoom } = this.wishes;
    const next = nextPlace(this.chart.x.places, cursor.peek() ?? (step > 0 ? from - 1 : to + 1), step);
    if (next === undefined) return;
    const half = (to - from) / 2;
    if (next < from || next > to) onZoom?.({ from: next - half, to: next + half });
    plot.setCursor({ left: plot.valToPos(next, "x"), top: 1 });
    cursor.value = next;
  }

  /**
   * @param {uPlot} plot
   * @param {number} factor
   */
  #zoom(plot, factor) {
    const [from, to] = [Number(plot.scales.x.min), Number(plot.scales.x.max)];
    const middle = this.wishes.cursor.peek() ?? (from + to) / 2;
    const half = ((to - from) * factor) / 2;
    this.wishes.onZoom?.({ from: middle - half, to: middle + half });
  }
}

/**
 * Where the cursor is among the places of a chart; null: nowhere.
 * @param {number[]} places
 * @param {number | null} cursor
 */
export const pointedIndex = (places, cursor) => (cursor === null ? null : Math.max(0, indexAt(places, cursor)));
