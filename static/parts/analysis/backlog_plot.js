// The backlog of one group over virtual time: an area cut into its queues, and below it the members of the group.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { remPx } from "../lane/lane_axis.js";
import { virtualTime } from "../../common/world/format.js";
import { Axes, Canvas, Cursor, nextChange, timeScale, useSize } from "./time_plot.js";

const SPAN_LEAST_US = 1_000_000;
/** The span over which incoming and consumed messages are counted: offsets reach the broker with pulls, one every few
 * milliseconds or
    seconds. */
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
  const [box, size] = useSize();
  const cursor = useSignal(null);
  const { series } = group;
  const scale = scaleOf(size, group, now);
  const walk = (event) => {
    if (event.key === "Home") cursor.value = null;
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const by = event.key === "ArrowRight" ? 1 : -1;
      cursor.value = nextChange(series, cursor.peek() ?? (by > 0 ? -1 : now + 1), by) ?? cursor.peek();
    } else return;
    event.preventDefault();
  };
  const point = (x) => (cursor.value = Math.min(now, Math.max(0, scale.time(x))));
  return html`<section class="money-plot" aria-label=${t("lab.backlog.plot", { group: name })}>
    <div class="money-tools">
      <p class=${`money-readout ${cursor.value === null ? "quiet" : "number"}`} id="backlog-readout" aria-live="polite">
        ${cursor.value === null ? t("lab.backlog.hint") : told(series, cursor.value)}
      </p>
    </div>
    <${Canvas}
      box=${box}
      size=${size}
      label=${t("lab.backlog.plot_label", { group: name })}
      readout="backlog-readout"
      onKeyDown=${walk}
      onPoint=${point}
      onLeave=${() => (cursor.value = null)}
    >
      <${Axes} scale=${scale} values=${[...new Set([0, Math.round(scale.most / 2), scale.most])]} />
      <${Areas} group=${group} now=${now} scale=${scale} />
      <${Members} series=${series} now=${now} scale=${scale} />
      <${Cursor} scale=${scale} time=${cursor.value} />
    </${Canvas}>
  </section>`;
}

function scaleOf({ width, height }, { series, peak }, now) {
  const rem = remPx.peek();
  const floor = height - 1.35 * rem;
  const bottom = floor - 1.9 * rem;
  const inner = { left: 4.6 * rem, right: width - 0.5 * rem, top: 0.6 * rem, bottom, floor };
  const most = Math.max(1, peak);
  return {
    ...inner,
    ...timeScale(inner, { left: 0, right: Math.max(now, SPAN_LEAST_US) }),
    rem,
    most,
    members: Math.max(1, ...series.map((point) => point[4])),
    y: (lag) => bottom - (lag / (most * 1.06)) * (bottom - inner.top),
  };
}

/** One band per queue, the first at the bottom; bands take turns in two shades, and the sum is a line. */
function Areas({ group: { queues, series }, now, scale }) {
  const ends = series.map((point, index) => [point[0], series[index + 1]?.[0] ?? now]);
  const below = series.map(() => 0);
  const bands = queues.map((_, queue) => {
    const sums = series.map((point, index) => below[index] + (point[3][queue] ?? 0));
    const upper = steps(ends, sums, scale);
    const lower = steps(ends, below, scale).reverse();
    sums.forEach((height, index) => (below[index] = height));
    return `M${[...upper, ...lower].map((place) => place.join(" ")).join("L")}Z`;
  });
  const sum = steps(
    ends,
    series.map((point) => point[1] - point[2]),
    scale,
  );
  return html`
    <g class="backlog-areas">
      ${bands.map((path, index) => html`<path key=${index} d=${path} class=${index % 2 ? "is-odd" : ""} />`)}
    </g>
    <path d=${`M${sum.map((place) => place.join(" ")).join("L")}`} class="backlog-sum" />
  `;
}

/** The corners of a step line. */
const steps = (ends, values, scale) =>
  values.flatMap((value, index) => ends[index].map((time) => [scale.x(time), scale.y(value)]));

/** A strip with one row per member that has work, and hollow ones for those that own no queue. */
function Members({ series, now, scale }) {
  const height = scale.floor - scale.bottom - 0.55 * scale.rem;
  const row = height / scale.members;
  const y = (number) => scale.floor - number * row;
  const changes = series.filter(
    (point, index) => index === 0 || point[4] !== series[index - 1][4] || point[5] !== series[index - 1][5],
  );
  const parts = changes.map((point, index) => ({
    from: scale.x(point[0]),
    to: scale.x(changes[index + 1]?.[0] ?? now),
    members: point[4],
    owners: point[5],
  }));
  const box = ({ from, to }, low, high) => (high > low ? `M${from} ${y(low)}V${y(high)}H${to}V${y(low)}Z` : "");
  return html`<g class="backlog-members">
    <text x=${scale.left - 0.4 * scale.rem} y=${scale.floor - height / 2} text-anchor="end" dominant-baseline="middle">
      ${t("lab.backlog.members_axis")}
    </text>
    <path d=${parts.map((part) => box(part, 0, part.owners)).join("")} class="is-owner" />
    <path d=${parts.map((part) => box(part, part.owners, part.members)).join("")} class="is-idle" />
  </g>`;
}
