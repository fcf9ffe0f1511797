// @ts-check
// Debited and credited over virtual time as two step lines. Money in flight hangs from the line of what was debited,
// money from nowhere stands on it: both are sums over transfers, so that one transfer's money on its way hides none
// from nowhere.

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { signal, useSignal } from "@preact/signals";
import { compact, count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { span, virtualTime } from "../../common/world/format.js";
import { ChartCanvas } from "../chart/chart.js";
import { lookOf } from "../chart/model.js";
import { MoveTool } from "../controls/button.js";

/** @import { Area, Chart, Stretch } from "../chart/model.js" */

/** @typedef {[number, number, number, number, number]} Sums time, debited, credited, in flight, from nowhere */

/** The stretch of virtual time that is shown; null: the whole story so far. */
const stretch = signal(/** @type {Stretch | null} */ (null));
const SPAN_LEAST_US = 1_000;
const ZOOM = 2;

/** Lets the plot show that stretch of time. */
export function showStretch(from, to) {
  stretch.value = { from: Math.max(0, from), to };
}

/**
 * @param {object} props
 * @param {Sums[]} props.series the first at 0
 * @param {number} props.now
 */
export function MoneyPlot({ series, now }) {
  const cursor = useSignal(/** @type {number | null} */ (null));
  const range = stretch.value ?? wholeOf(series, now);
  const chart = useMemo(() => chartOf(series, now, range), [series, now, range.from, range.to]);
  const show = (/** @type {Stretch | null} */ wanted) => {
    if (wanted === null || (wanted.from <= 0 && wanted.to >= now)) stretch.value = null;
    else {
      const middle = (wanted.from + wanted.to) / 2;
      const half = Math.max(SPAN_LEAST_US, wanted.to - wanted.from) / 2;
      showStretch(middle - half, middle + half);
    }
  };
  const zoom = (/** @type {number} */ factor) => {
    const middle = cursor.peek() ?? (range.from + range.to) / 2;
    const half = ((range.to - range.from) * factor) / 2;
    show({ from: middle - half, to: middle + half });
  };
  const pan = (/** @type {number} */ share) => {
    const by = Math.max(-range.from, (range.to - range.from) * share);
    showStretch(range.from + by, range.to + by);
  };
  const isWhole = stretch.value === null;
  return html`<section class="money-plot" aria-label=${t("lab.money.plot")}>
    <div class="money-tools">
      <${Readout} series=${series} time=${cursor.value} />
      <span class="tool-group">
        <${MoveTool} name="earlier" sign="‹" act=${() => pan(-0.5)} isOff=${isWhole} />
        <${MoveTool} name="later" sign="›" act=${() => pan(0.5)} isOff=${isWhole} />
        <${MoveTool} name="wider" sign="−" act=${() => zoom(ZOOM)} isOff=${isWhole} />
        <span class="number span-text">${span(range.to - range.from)}</span>
        <${MoveTool} name="narrower" sign="+" act=${() => zoom(1 / ZOOM)} />
        <${MoveTool} name="whole" sign="↔" act=${() => (stretch.value = null)} isOff=${isWhole} />
      </span>
    </div>
    <div class="money-canvas">
      <${ChartCanvas}
        chart=${chart}
        cursor=${cursor}
        label=${t("lab.money.plot_label")}
        readout="money-readout"
        onZoom=${show}
      />
    </div>
  </section>`;
}

/** From shortly before the first change to now. */
function wholeOf(series, now) {
  const first = series[1]?.[0] ?? 0;
  const to = Math.max(now, first + SPAN_LEAST_US);
  return { from: Math.max(0, first - (to - first) * 0.08), to: to + (to - first) * 0.02 };
}

/**
 * @param {Sums[]} series
 * @param {number} now
 * @param {Stretch} range
 * @returns {Chart}
 */
function chartOf(series, now, range) {
  const steps = (/** @type {1 | 2} */ column) => [...series, series[series.length - 1]].map((sums) => sums[column]);
  /** @type {Area[]} */
  const areas = series.flatMap(([from, debited, , way, nowhere], index) => {
    const part = { from, to: series[index + 1]?.[0] ?? now };
    return [
      { ...part, low: debited - way, high: debited, colour: "--plot-in", fill: "lines" },
      { ...part, low: debited, high: debited + nowhere, colour: "--lab-bad", fill: "crosses" },
    ];
  });
  return {
    name: "money",
    x: { places: [...series.map(([time]) => time), now], kind: "virtual", range },
    y: { print: compact, isWhole: true },
    series: [
      { name: t("lab.money.debited"), look: lookOf(0), values: steps(1), kind: "steps" },
      { name: t("lab.money.credited"), look: { ...lookOf(2), dash: [7, 4] }, values: steps(2), kind: "steps" },
    ],
    areas,
  };
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
    <strong>${what}</strong>
  </p>`;
}
