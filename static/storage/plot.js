// One plot of a run as SVG, so that it can be taken away as it is: lines over a common axis, or a strip of points.
// The two stores are told apart by colour, dashes and the shape of their points.

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { bytes, compact, roundStep } from "../common/format.js";
import { t } from "../common/i18n.js";
import { save } from "./save.js";

const WIDTH = 560;
const HEIGHT = 300;
const AREA = { left: 66, right: WIDTH - 24, top: 12, bottom: HEIGHT - 44 };
const STYLES = [
  { colour: "--plot-in", dash: "" },
  { colour: "--plot-high", dash: "7 4" },
  { colour: "--plot-out", dash: "2 4" },
  { colour: "--line-strong", dash: "12 3 2 3" },
];
const ORDER = ["rocketmq", "kafka"];

export function Plot({ plot }) {
  const drawing = useRef(null);
  const names = Object.keys(plot.lines).sort((one, other) => ORDER.indexOf(one) - ORDER.indexOf(other));
  const title = t(`storage.plot.${plot.name.split("_by_")[0]}`);
  const print = /bytes|reads|sends/.test(plot.name) ? bytes : compactOf;
  const lasts = names.map((name) => `${lineName(name)} ${print(plot.lines[name].at(-1)[1])}`);
  return html`<figure class="panel storage-plot">
    <figcaption>
      <strong>${title}</strong>
      <button type="button" class="button row-button" onClick=${() => save(`${plot.name}.svg`, drawn(drawing.current))}>
        SVG
      </button>
    </figcaption>
    <svg
      ref=${drawing}
      viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label=${`${title}: ${lasts.join(t("text.list_separator"))}`}
    >
      <${Axes} plot=${plot} print=${print} />
      ${names.map(
        (name, index) => html`<${Line} key=${name} plot=${plot} points=${plot.lines[name]} index=${index} />`,
      )}
    </svg>
    ${!plot.is_strip && html`<${Legend} plot=${plot} names=${names} print=${print} />`}
  </figure>`;
}

const styleOf = (index) => STYLES[index % STYLES.length];
const lineName = (name) => t(ORDER.includes(name) ? `storage.store.${name}` : `storage.line.${name}`);
/** "write_us_by_topics" -> "topics", "sends_cold" -> "sends". */
const axisOf = (name) => name.split("_by_")[1] ?? name.split("_")[0];
const compactOf = (value) => (Math.abs(value) >= 100 ? compact(value) : String(Number(value.toPrecision(3))));

/** [value -> pixel, ticks] of one axis. */
export function scaleOf(values, isLog, from, to) {
  const most = Math.max(...values);
  if (!isLog) {
    const step = roundStep((most || 1) / 5);
    const steps = Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
    return [(value) => from + ((to - from) * value) / (most || 1), steps];
  }
  const low = Math.floor(Math.log10(Math.max(Math.min(...values), 0.1)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(most, 0.1))));
  const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));
  return [(value) => from + ((to - from) * (Math.log10(Math.max(value, 0.1)) - low)) / (high - low), ticks];
}

function scalesOf(plot) {
  const points = Object.values(plot.lines).flat();
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  return [scaleOf(xs, plot.is_log, AREA.left, AREA.right), scaleOf(ys, plot.is_log, AREA.bottom, AREA.top)];
}

function Axes({ plot, print }) {
  const [[x, xTicks], [y, yTicks]] = scalesOf(plot);
  return html`<g class="plot-axes">
    ${yTicks.map(
      (tick) => html`<g key=${`y${tick}`}>
        <line class="plot-grid" x1=${AREA.left} x2=${AREA.right} y1=${y(tick)} y2=${y(tick)} />
        <text x=${AREA.left - 6} y=${y(tick) + 4} text-anchor="end">${print(tick)}</text>
      </g>`,
    )}
    ${xTicks.map(
      (tick) =>
        html`<text key=${`x${tick}`} x=${x(tick)} y=${AREA.bottom + 17} text-anchor="middle">${compact(tick)}</text>`,
    )}
    <text x=${(AREA.left + AREA.right) / 2} y=${HEIGHT - 8} text-anchor="middle">
      ${t(`storage.axis.${axisOf(plot.name)}`)}
    </text>
  </g>`;
}

function Line({ plot, points, index }) {
  const [[x], [y]] = scalesOf(plot);
  const { colour, dash } = styleOf(index);
  const stroke = `var(${colour})`;
  const dots = points.map(
    ([px, py], number) => html`<${Dot} key=${number} x=${x(px)} y=${y(py)} index=${index} plot=${plot} />`,
  );
  const path = points
    .map(([px, py], number) => `${number ? "L" : "M"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`)
    .join("");
  return html`<g style=${{ color: stroke }}>
    ${!plot.is_strip && html`<path class="plot-line" d=${path} stroke-dasharray=${dash} />`}${dots}
  </g>`;
}

/** Round, square, pointed or hollow, by line. */
function Dot({ x, y, index, plot }) {
  if (plot.is_strip) return html`<rect class="plot-dot" x=${x - 1.5} y=${y - 1.5} width="3" height="3" />`;
  const shapes = ["M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", "M-4 -4h8v8h-8z", "M0 -5l5 9h-10z", "M0 -5l5 5l-5 5l-5 -5z"];
  return html`<path class="plot-dot" d=${shapes[index % shapes.length]} transform=${`translate(${x} ${y})`} />`;
}

function Legend({ plot, names, print }) {
  return html`<ul class="plot-legend" role="list">
    ${names.map(
      (name, index) => html`<li key=${name}>
        <svg width="30" height="12" aria-hidden="true" style=${{ color: `var(${styleOf(index).colour})` }}>
          <path class="plot-line" d="M0 6H30" stroke-dasharray=${styleOf(index).dash} />
          <${Dot} x=${15} y=${6} index=${index} plot=${plot} />
        </svg>
        <span>${lineName(name)}</span> <strong class="number">${print(plot.lines[name].at(-1)[1])}</strong>
      </li>`,
    )}
  </ul>`;
}

/** The drawing as a file of its own: it contains its colours and fonts. */
function drawn(svg) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const originals = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((part, index) => {
    const { stroke, fill, strokeWidth, fontSize, fontFamily } = getComputedStyle(originals[index]);
    part.removeAttribute("style");
    part.removeAttribute("class");
    for (const [name, value] of Object.entries({ stroke, fill, "stroke-width": strokeWidth }))
      part.setAttribute(name, value);
    if (part.tagName === "text") {
      part.setAttribute("font-size", fontSize);
      part.setAttribute("font-family", fontFamily);
    }
  });
  return new XMLSerializer().serializeToString(copy);
}
