// Debited and credited over virtual time as two step lines. Money in flight hangs from the line of what was debited,
// money from nowhere stands on it: both are sums over transfers, so that one transfer's money on its way hides none
// from nowhere.

import { html } from "htm/preact";
import { signal, useSignal } from "@preact/signals";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { remPx } from "../lane/lane_axis.js";
import { span, virtualTime } from "../../common/world/format.js";
import { Axes, Canvas, Cursor, nextChange, timeScale, useSize } from "./time_plot.js";

/** The stretch of virtual time that is shown, { left, right }; null: the whole story so far. */
const stretch = signal(null);
const SPAN_LEAST_US = 1_000;
const ZOOM = 2;
/** A stretch in which the lines differ is drawn at least this wide: most last some milliseconds of a story of minutes.
 * */
const SLIVER_PX = 2;

/** Lets the plot show that stretch of time. */
export function showStretch(left, right) {
  stretch.value = { left: Math.max(0, left), right };
}

/** `series`: [[time_us, debited, credited, in_flight, from_nowhere], ...], the first at 0. */
export function MoneyPlot({ series, now }) {
  const [box, size] = useSize();
  const cursor = useSignal(null);
  const range = stretch.value ?? wholeOf(series, now);
  const scale = scaleOf(size, range, series);
  const zoom = (factor) => {
    const middle = cursor.peek() ?? (range.left + range.right) / 2;
    const half = Math.max(SPAN_LEAST_US, (range.right - range.left) * factor) / 2;
    if (middle - half <= 0 && middle + half >= now) stretch.value = null;
    else showStretch(middle - half, middle + half);
  };
  const pan = (share) => {
    const by = Math.max(-range.left, (range.right - range.left) * share);
    showStretch(range.left + by, range.right + by);
  };
  const walk = (event) => {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") move(event.key === "ArrowLeft" ? -1 : 1);
    else if (event.key === "+" || event.key === "=") zoom(1 / ZOOM);
    else if (event.key === "-") zoom(ZOOM);
    else if (event.key === "Home") stretch.value = cursor.value = null;
    else return;
    event.preventDefault();
  };
  /** To the next change; the stretch follows. */
  const move = (by) => {
    const next = nextChange(series, cursor.peek() ?? (by > 0 ? range.left : range.right), by);
    if (next === undefined) return;
    cursor.value = next;
    const half = (range.right - range.left) / 2;
    if (stretch.peek() && (next < range.left || next > range.right)) showStretch(next - half, next + half);
  };
  const point = (x) => {
    const time = scale.time(x);
    cursor.value = time >= range.left && time <= Math.min(range.right, now) ? time : null;
  };
  const button = (name, sign, action, isOff = false) =>
    html`<button
      type="button"
      class="button icon-button"
      onClick=${action}
      disabled=${isOff}
      aria-label=${t(`lab.move.${name}`)}
      title=${t(`lab.move.${name}`)}
    >
      ${sign}
    </button>`;
  return html`<section class="money-plot" aria-label=${t("lab.money.plot")}>
    <div class="money-tools">
      <${Readout} series=${series} time=${cursor.value} />
      <span class="tool-group">
        ${button("earlier", "‹", () => pan(-0.5), stretch.value === null)}
        ${button("later", "›", () => pan(0.5), stretch.value === null)}
        ${button("wider", "−", () => zoom(ZOOM), stretch.value === null)}
        <span class="number span-text">${span(range.right - range.left)}</span>
        ${button("narrower", "+", () => zoom(1 / ZOOM))}
        ${button("whole", "↔", () => (stretch.value = null), stretch.value === null)}
      </span>
    </div>
    <${Canvas}
      box=${box}
      size=${size}
      label=${t("lab.money.plot_label")}
      readout="money-readout"
      onKeyDown=${walk}
      onPoint=${point}
      onLeave=${() => (cursor.value = null)}
    >
      <${Drawing} series=${series} now=${now} scale=${scale} /><${Cursor} scale=${scale} time=${cursor.value} />
    </${Canvas}>
  </section>`;
}

/** From shortly before the first change to now. */
function wholeOf(series, now) {
  const first = series[1]?.[0] ?? 0;
  const right = Math.max(now, first + SPAN_LEAST_US);
  return { left: Math.max(0, first - (right - first) * 0.08), right: right + (right - first) * 0.02 };
}

function scaleOf({ width, height }, range, series) {
  const rem = remPx.peek();
  const bottom = height - 1.35 * rem;
  const inner = { left: 3.7 * rem, right: width - 0.5 * rem, top: 0.5 * rem, bottom, floor: bottom };
  const most = Math.max(1, ...series.map(([, debited, , , fromNowhere]) => debited + fromNowhere));
  return {
    ...inner,
    ...timeScale(inner, range),
    rem,
    most,
    y: (amount) => bottom - (amount / (most * 1.06)) * (bottom - inner.top),
  };
}

function Drawing({ series, now, scale }) {
  const ends = series
    .map(([time, debited, credited, way, nowhere], index) => ({
      time,
      debited,
      credited,
      way,
      nowhere,
      end: series[index + 1]?.[0] ?? now,
    }))
    .filter(({ time, end }) => end >= scale.range.left && time <= scale.range.right);
  const line = (name) =>
    ends
      .map(
        (part, index) =>
          (index === 0 ? `M${scale.x(part.time)} ${scale.y(part[name])}` : `V${scale.y(part[name])}`) +
          `H${scale.x(part.end)}`,
      )
      .join("");
  const area = (name, sign) =>
    ends
      .filter((part) => part[name] > 0)
      .map((part) => {
        const from = scale.x(part.time);
        const to = Math.max(from + SLIVER_PX, scale.x(part.end));
        const [bottom, top] = [scale.y(part.debited), scale.y(part.debited + sign * part[name])];
        return `M${from} ${bottom}H${to}V${top}H${from}Z`;
      })
      .join("");
  return html`
    <defs>
      <pattern id="money-way" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="7" height="7" class="money-way-ground" /><rect width="2.4" height="7" class="money-way-lines" />
      </pattern>
      <pattern id="money-nowhere" width="8" height="8" patternUnits="userSpaceOnUse">
        <rect width="8" height="8" class="money-nowhere-ground" />
        <path d="M0 0L8 8M8 0L0 8" class="money-nowhere-lines" />
      </pattern>
    </defs>
    <${Axes} scale=${scale} values=${[0, scale.most / 2, scale.most].filter(Number.isInteger)} />
    <path d=${area("way", -1)} fill="url(#money-way)" class="money-way" data-area="on-the-way" />
    <path d=${area("nowhere", 1)} fill="url(#money-nowhere)" class="money-nowhere" data-area="from-nowhere" />
    <path d=${line("debited")} class="money-line money-debited" />
    <path d=${line("credited")} class="money-line money-credited" />
  `;
}

/** The sums at the cursor: debited - credited = on its way - from nowhere. */
function Readout({ series, time }) {
  // Where both amounts will be told there is room for two lines from the beginning: the plot must not jump under the
  // pointer.
  const isLong = series.some((sums) => sums[3] > 0 && sums[4] > 0);
  const name = `money-readout ${isLong ? "is-long" : ""}`;
  if (time === null) {
    return html`<p class=${`${name} quiet`} id="money-readout" aria-live="polite">${t("lab.money.hint")}</p>`;
  }
  const [, debited, credited, way, nowhere] = series.findLast(([at]) => at <= time) ?? [0, 0, 0, 0, 0];
  const parts = [
    ["", way, "in_flight"],
    ["− ", nowhere, "nowhere"],
  ].filter(([, amount]) => amount > 0);
  const what =
    parts.map(([sign, amount, label]) => `${sign}${count(amount)} ${t(`lab.money.${label}`)}`).join(" ") || count(0);
  return html`<p class=${`${name} number`} id="money-readout" aria-live="polite">
    <span class="sr-only">
      ${t("lab.money.readout", { time: virtualTime(time), debited: count(debited), credited: count(credited) })}
    </span>
    <span aria-hidden="true">${virtualTime(time)} s: ${count(debited)} − ${count(credited)} =</span>${" "}
    <strong>
      ${what}
    </strong>
  </p>`;
}
