// The backlog of one group over virtual time: an area cut into its queues, and below it the members of the group.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { compact, count, roundStep } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { remPx } from "../../live/lane_axis.js";
import { virtualTime } from "../format.js";

const TICK_PX = 84;
const SPAN_LEAST_US = 1_000_000;
/** What comes and goes is counted over so long: offsets reach the broker with pulls, one every few milliseconds or seconds. */
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
  return t("lab.backlog.readout", { time: virtualTime(time), lag: count(stored - done), stored: count(stored), done: count(done), members: count(members) });
}

export function BacklogPlot({ name, group, now }) {
  const box = useRef(null);
  const size = useSignal({ width: 0, height: 0 });
  const cursor = useSignal(null);
  useEffect(() => {
    const observer = new ResizeObserver(([{ contentRect }]) => (size.value = { width: contentRect.width, height: contentRect.height }));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const { series } = group;
  const scale = scaleOf(size.value, group, now);
  const walk = (event) => {
    if (event.key === "Home") cursor.value = null;
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const at = cursor.peek() ?? (event.key === "ArrowRight" ? -1 : now + 1);
      const next = event.key === "ArrowRight" ? series.find(([time]) => time > at) : series.findLast(([time]) => time < at);
      if (next) cursor.value = next[0];
    } else return;
    event.preventDefault();
  };
  const point = (event) => (cursor.value = Math.min(now, Math.max(0, scale.time(event.offsetX))));
  return html`<section class="money-plot" aria-label=${t("lab.backlog.plot", { group: name })}>
    <div class="money-tools"><p class=${`money-readout ${cursor.value === null ? "quiet" : "number"}`} id="backlog-readout" aria-live="polite">${cursor.value === null ? t("lab.backlog.hint") : told(series, cursor.value)}</p></div>
    <div class="money-canvas" ref=${box}>${size.value.width > 0 && html`<svg width=${size.value.width} height=${size.value.height} tabindex="0" role="application" aria-roledescription=${t("lab.money.role")}
        aria-label=${t("lab.backlog.plot_label", { group: name })} aria-describedby="backlog-readout" onKeyDown=${walk} onPointerMove=${point} onPointerLeave=${() => (cursor.value = null)}>
      <${Axes} scale=${scale} /><${Areas} group=${group} now=${now} scale=${scale} /><${Members} series=${series} now=${now} scale=${scale} />
      ${cursor.value !== null && html`<path d=${`M${scale.x(cursor.value)} ${scale.top}V${scale.memberBottom}`} class="money-cursor" />`}</svg>`}</div></section>`;
}

function scaleOf({ width, height }, { series, peak }, now) {
  const rem = remPx.peek();
  const right = Math.max(now, SPAN_LEAST_US);
  const memberBottom = height - 1.35 * rem;
  const bottom = memberBottom - 1.9 * rem;
  const inner = { left: 4.6 * rem, right: width - 0.5 * rem, top: 0.6 * rem, bottom, memberBottom };
  const most = Math.max(1, peak);
  const members = Math.max(1, ...series.map((point) => point[4]));
  return {
    ...inner, rem, most, end: right, members,
    x: (time) => inner.left + (Math.min(right, time) / right) * (inner.right - inner.left),
    y: (lag) => inner.bottom - (lag / (most * 1.06)) * (inner.bottom - inner.top),
    time: (x) => ((x - inner.left) / (inner.right - inner.left)) * right,
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
    sums.forEach((sum, index) => (below[index] = sum));
    return `M${[...upper, ...lower].map((place) => place.join(" ")).join("L")}Z`;
  });
  const sum = steps(ends, series.map((point) => point[1] - point[2]), scale);
  return html`<g class="backlog-areas">${bands.map((path, index) => html`<path key=${index} d=${path} class=${index % 2 ? "is-odd" : ""} />`)}</g>
    <path d=${`M${sum.map((place) => place.join(" ")).join("L")}`} class="backlog-sum" />`;
}

/** The corners of a step line. */
const steps = (ends, values, scale) => values.flatMap((value, index) => ends[index].map((time) => [scale.x(time), scale.y(value)]));

/** A strip with one row per member that has work, and hollow ones for those that own no queue. */
function Members({ series, now, scale }) {
  const height = scale.memberBottom - scale.bottom - 0.55 * scale.rem;
  const row = height / scale.members;
  const y = (number) => scale.memberBottom - number * row;
  const changes = series.filter((point, index) => index === 0 || point[4] !== series[index - 1][4] || point[5] !== series[index - 1][5]);
  const parts = changes.map((point, index) => ({ from: scale.x(point[0]), to: scale.x(changes[index + 1]?.[0] ?? now), members: point[4], owners: point[5] }));
  const box = ({ from, to }, low, high) => (high > low ? `M${from} ${y(low)}V${y(high)}H${to}V${y(low)}Z` : "");
  return html`<g class="backlog-members"><text x=${scale.left - 0.4 * scale.rem} y=${scale.memberBottom - height / 2} text-anchor="end" dominant-baseline="middle">${t("lab.backlog.members_axis")}</text>
    <path d=${parts.map((part) => box(part, 0, part.owners)).join("")} class="is-owner" />
    <path d=${parts.map((part) => box(part, part.owners, part.members)).join("")} class="is-idle" /></g>`;
}

function Axes({ scale }) {
  const lags = [...new Set([0, Math.round(scale.most / 2), scale.most])];
  const step = roundStep(scale.end / Math.max(2, (scale.right - scale.left) / (TICK_PX * (scale.rem / 14))));
  const times = [];
  for (let time = 0; time <= scale.end; time += step) times.push(time);
  return html`<g class="money-axes" aria-hidden="true">
    ${lags.map((lag) => html`<path key=${lag} d=${`M${scale.left} ${scale.y(lag)}H${scale.right}`} /><text key=${`${lag} text`} x=${scale.left - 0.4 * scale.rem} y=${scale.y(lag)} text-anchor="end" dominant-baseline="middle">${compact(lag)}</text>`)}
    ${times.map((time) => html`<path key=${time} d=${`M${scale.x(time)} ${scale.memberBottom}v4`} /><text key=${`${time} text`} x=${scale.x(time)} y=${scale.memberBottom + 1.05 * scale.rem} text-anchor=${time === 0 ? "start" : scale.x(time) > scale.right - 1.4 * scale.rem ? "end" : "middle"}>${secondsText(time, step)}</text>`)}</g>`;
}

/** Seconds with as many digits as the step needs. */
const secondsText = (time, step) => `${(time / 1e6).toFixed(Math.max(0, Math.ceil(6 - Math.log10(step))))} s`;
