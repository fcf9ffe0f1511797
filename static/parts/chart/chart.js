// @ts-check
// A chart: its title, its drawing, its legend with the values at the cursor. What it draws is data (model.js).

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { clockTime } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { Drawing, pointedIndex } from "./drawing.js";
import { numberText } from "./options.js";

/** @import { Chart as Model, Series, Stretch } from "./model.js" */
/** @import { Signal } from "@preact/signals" */

/**
 * The drawing alone. `label` names it, and says what it shows; `readout`: the id of a text about the cursor.
 * @param {object} props
 * @param {Model} props.chart
 * @param {Signal<number | null>} props.cursor the place that is pointed at, or null
 * @param {string} props.label
 * @param {string} [props.readout]
 * @param {string} [props.sync] charts with the same one share the crosshair
 * @param {(stretch: Stretch | null) => void} [props.onZoom]
 */
export function ChartCanvas({ chart, cursor, label, readout, sync, onZoom }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const drawing = useRef(/** @type {Drawing | null} */ (null));
  useEffect(() => {
    const drawn = new Drawing(/** @type {HTMLElement} */ (place.current), chart, { cursor, sync, onZoom });
    drawing.current = drawn;
    return () => drawn.end();
  }, []);
  useEffect(() => {
    if (!drawing.current) return;
    drawing.current.wishes.onZoom = onZoom;
    if (drawing.current.chart !== chart) drawing.current.update(chart);
  });
  return html`<div
    class="plot-canvas"
    ref=${place}
    tabindex="0"
    role="application"
    aria-roledescription=${t("chart.role")}
    aria-label=${label}
    aria-description=${t(onZoom ? "chart.keys_zoom" : "chart.keys")}
    aria-describedby=${readout}
  ></div>`;
}

/**
 * A drawing with its title, what the cursor points at, and its legend.
 * @param {object} props
 * @param {Model} props.chart
 * @param {string} props.title
 * @param {string} [props.unit]
 * @param {Signal<number | null>} [props.cursor] else it has one of its own, and says where it is
 * @param {string} [props.sync]
 * @param {(stretch: Stretch | null) => void} [props.onZoom]
 * @param {any} [props.action] a button next to the title
 * @param {any} [props.children] what is shown instead of a drawing that has no data
 */
export function Chart({ chart, title, unit, cursor, sync, onZoom, action, children }) {
  const own = useSignal(/** @type {number | null} */ (null));
  const at = pointedIndex(chart.x.places, (cursor ?? own).value);
  const lasts = chart.series.map((one) => `${one.name} ${chart.y.print(lastOf(one))}`);
  return html`<figure class="plot" data-plot=${chart.name}>
    <figcaption>
      <span class="ellipsis plot-title">
        <strong>${title}</strong> <span class="quiet" title=${unit}>${unit}</span>
      </span>
      ${!cursor && at !== null && html`<span class="plot-at quiet number">${placeText(chart, at)}</span>`}${action}
    </figcaption>
    <${ChartCanvas}
      chart=${chart}
      cursor=${cursor ?? own}
      label=${[title, lasts.join(t("text.list_separator"))].filter(Boolean).join(": ")}
      sync=${sync}
      onZoom=${onZoom}
    />
    ${children}
    ${chart.series.some(({ kind }) => kind !== "dots") && html`<${Legend} chart=${chart} at=${at} />`}
  </figure>`;
}

/** @param {Model} chart @param {number} at */
function placeText({ x: { places, kind, title } }, at) {
  if (kind === "clock") return clockTime(places[at] * 1e6);
  return title ? `${title}: ${numberText(places[at])}` : numberText(places[at]);
}

/** @param {Series} series */
const lastOf = ({ values, last }) => (last === undefined ? (values.findLast((value) => value != null) ?? null) : last);

/**
 * The series with their values: those at the cursor, else the last ones.
 * @param {{ chart: Model, at: number | null }} props
 */
function Legend({ chart: { series, y }, at }) {
  const text = (/** @type {Series} */ one) => {
    if (at === null) return y.print(lastOf(one));
    const [value, most] = [one.values[at] ?? null, one.band?.high[at] ?? null];
    return value !== null && most !== null && most > value ? `${y.print(value)} (≤ ${y.print(most)})` : y.print(value);
  };
  return html`<ul class="plot-legend" role="list">
    ${series.map(
      (one) => html`<li key=${one.name}>
        <${Sample} series=${one} /><span>${one.name}</span> <strong class="number">${text(one)}</strong>
      </li>`,
    )}
  </ul>`;
}

/** A piece of the line, with one of its points. @param {{ series: Series }} props */
function Sample({ series: { look, kind, band } }) {
  const [colour, dash] = [`var(${look.colour})`, look.dash.join(" ")];
  return html`<svg width="30" height="12" aria-hidden="true">
    ${kind !== "dots" && html`<path d="M0 6H30" stroke=${colour} stroke-width="2.5" stroke-dasharray=${dash} />`}
    ${kind !== "steps" && !band && html`<path d=${look.shape} fill=${colour} transform="translate(15 6)" />`}
  </svg>`;
}
