// @ts-check
// The backlog of one group over virtual time: an area cut into its queues, and below it the members of the group.

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { compact, count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { virtualTime } from "../../common/world/format.js";
import { ChartCanvas } from "../chart/chart.js";
import { lookOf } from "../chart/model.js";

/** @import { Area, Chart } from "../chart/model.js" */

/** [time, stored, done, lag by queue, members, members that own a queue] */
/** @typedef {[number, number, number, number[], number, number]} Point */

const SPAN_LEAST_US = 1_000_000;
/** The span over which incoming and consumed messages are counted: offsets reach the broker with pulls, one every few
    milliseconds or seconds. */
const RATE_US = 3_000_000;

/** The last point of a series at `time` or before. */
export const pointAt = (series, time) => series.findLast(([at]) => at <= time) ?? series[0];

/** How much column `column` grew per second up to `time`. */
export function rateAt(series, column, time) {
  const length = Math.min(RATE_US, Math.max(1, time));
  return Math.max(0, ((pointAt(series, time)[column] - pointAt(series, time - length)[column]) / length) * 1e6);
}

/** The backlog at a moment in a sentence. */
function told(series, time) {
  const [, stored, done, , members] = pointAt(series, time);
  return t("lab.backlog.readout", {
    time: virtualTime(time),
    lag: count(stored - done),
    stored: count(stored),
    done: count(done),
    members: count(members),
  });
}

export function BacklogPlot({ name, group, now }) {
  const cursor = useSignal(/** @type {number | null} */ (null));
  const { lags, members } = useMemo(() => chartsOf(group, now), [group, now]);
  const drawing = (/** @type {Chart} */ chart, /** @type {string} */ label) =>
    html`<${ChartCanvas} chart=${chart} cursor=${cursor} label=${label} readout="backlog-readout" sync="backlog" />`;
  return html`<section class="money-plot" aria-label=${t("lab.backlog.plot", { group: name })}>
    <div class="money-tools">
      <p class=${`money-readout ${cursor.value === null ? "quiet" : "number"}`} id="backlog-readout" aria-live="polite">
        ${cursor.value === null ? t("lab.backlog.hint") : told(group.series, cursor.value)}
      </p>
    </div>
    <div class="money-canvas">${drawing(lags, t("lab.backlog.plot_label", { group: name }))}</div>
    <div class="backlog-members">
      <span class="quiet" aria-hidden="true">${t("lab.backlog.members_axis")}</span>
      ${drawing(members, t("lab.backlog.members"))}
    </div>
  </section>`;
}

/**
 * The lags with one band per queue, the first at the bottom, in two shades by turns; and the members, hollow where they
 * own no queue.
 * @param {{ series: Point[], queues: unknown[] }} group
 * @param {number} now
 * @returns {{ lags: Chart, members: Chart }}
 */
function chartsOf({ series, queues }, now) {
  const x = {
    places: [...series.map(([time]) => time), now],
    kind: /** @type {const} */ ("virtual"),
    range: { from: 0, to: Math.max(now, SPAN_LEAST_US) },
  };
  const steps = (/** @type {(point: Point) => number} */ value) => [...series, series[series.length - 1]].map(value);
  const y = { print: compact, isWhole: true };
  /** @type {Area[]} */
  const areas = series.flatMap((point, index) => {
    const [from, to] = [point[0], series[index + 1]?.[0] ?? now];
    let high = 0;
    return queues.map((_, queue) => {
      const low = high;
      high += point[3][queue] ?? 0;
      return { from, to, low, high, colour: "--plot-in", fill: queue % 2 ? "pale" : "medium" };
    });
  });
  const changes = series.filter((point, index) => `${point.slice(4)}` !== `${series[index - 1]?.slice(4)}`);
  /** @type {Area[]} */
  const staff = changes.flatMap(([from, , , , all, owners], index) => {
    const strip = { from, to: changes[index + 1]?.[0] ?? now, colour: "--plot-out" };
    return [
      { ...strip, low: 0, high: owners, fill: "strong" },
      { ...strip, low: owners, high: all, fill: "outline" },
    ];
  });
  const line = { name: "", kind: /** @type {const} */ ("steps") };
  return {
    lags: {
      name: "lags",
      x: { ...x, isBare: true },
      y,
      series: [{ ...line, look: lookOf(0), values: steps(([, stored, done]) => stored - done) }],
      areas,
    },
    members: {
      name: "members",
      x,
      y: { ...y, ticks: [0, Math.max(1, ...series.map((point) => point[4]))] },
      series: [{ ...line, look: { ...lookOf(2), dash: [] }, values: steps((point) => point[4]) }],
      areas: staff,
    },
  };
}
