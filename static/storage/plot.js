// @ts-check
// One plot of a run: lines over a common axis, or a strip of points; to be taken away as an SVG.

import { html } from "htm/preact";
import { bytes } from "../common/format.js";
import { t } from "../common/i18n.js";
import { Button } from "../parts/controls/button.js";
import { Chart } from "../parts/chart/chart.js";
import { joined, lookOf } from "../parts/chart/model.js";
import { numberText } from "../parts/chart/options.js";
import { powerBelow } from "../parts/chart/scale.js";
import { save } from "./save.js";
import { svgFile } from "./svg_file.js";

/**
 * @typedef {object} RunPlot As app/storage/runs/report.py writes it.
 * @property {string} name
 * @property {Record<string, [number, number][]>} lines
 * @property {boolean} is_log
 * @property {boolean} is_strip
 */

const ORDER = ["rocketmq", "kafka"];

/** @param {string} name */
const lineName = (name) => t(ORDER.includes(name) ? `storage.store.${name}` : `storage.line.${name}`);
/** "write_us_by_topics" -> "topics", "sends_cold" -> "sends".
    @param {string} name */
const axisOf = (name) => name.split("_by_")[1] ?? name.split("_")[0];

/** @param {{ plot: RunPlot }} props */
export function Plot({ plot }) {
  const title = t(`storage.plot.${plot.name.split("_by_")[0]}`);
  const chart = chartOf(plot);
  return html`<div class="panel storage-plot">
    <${Chart}
      chart=${chart}
      title=${title}
      action=${html`<${Button}
        class="button row-button" onClick=${() => save(`${plot.name}.svg`, svgFile(chart, title))}
      >
        SVG
      </${Button}>`}
    />
  </div>`;
}

/** @type {(plot: RunPlot) => import("../parts/chart/model.js").Chart} */
function chartOf({ name, lines, is_log: isLog, is_strip: isStrip }) {
  const names = Object.keys(lines).sort((one, other) => ORDER.indexOf(one) - ORDER.indexOf(other));
  const { places, columns } = joined(names.map((line) => lines[line]));
  const floor = isLog ? powerBelow(Math.min(...columns.flat().filter((value) => value !== undefined))) : undefined;
  return {
    name,
    x: { places, kind: "number", isLog, title: t(`storage.axis.${axisOf(name)}`) },
    y: {
      print: /bytes|reads|sends/.test(name) ? bytes : numberText,
      ...(floor === undefined ? {} : { floor, least: 10 * floor }),
    },
    series: names.map((line, index) => ({
      name: lineName(line),
      look: lookOf(index),
      values: columns[index],
      kind: isStrip ? "dots" : "line",
    })),
  };
}
