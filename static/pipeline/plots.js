// @ts-check
// Numbers over time, or over another number: of the micro-batches, and those that a job reports itself.

import { html } from "htm/preact";
import { compact, milliseconds } from "../common/format.js";
import { t } from "../common/i18n.js";
import { Chart } from "../parts/chart/chart.js";
import { joined, lookOf } from "../parts/chart/model.js";
import { numberText } from "../parts/chart/options.js";
import { Panel } from "../parts/panel/panel.js";
import { bilingual } from "../common/world/format.js";

/** @typedef {(value: number | null) => string} Print */
/** @typedef {"input_rows_per_s" | "processed_rows_per_s" | "total_ms"} NumberOfBatch */

/** @type {Print} */
const wholeMilliseconds = (value) => milliseconds(value === null ? null : Math.round(value));

/** @param {{ batches: Picture.MicroBatch[] }} props */
export function BatchPlots({ batches: all }) {
  const batches = all.filter(({ at_us }) => at_us !== null);
  const places = batches.map(({ at_us }) => Number(at_us) / 1e6);
  const plot = (
    /** @type {string} */ name,
    /** @type {Print} */ print,
    /** @type {Record<string, NumberOfBatch>} */ columns,
  ) =>
    html`<${Chart}
      title=${t(`pipeline.plot.${name}`)}
      unit=${name === "rates" ? t("pipeline.plot.rates_unit") : ""}
      chart=${{
        name,
        x: { places, kind: "clock" },
        y: { print },
        series: Object.entries(columns).map(([figure, column], index) => ({
          name: t(`pipeline.figure.${figure}`),
          look: lookOf(index),
          values: batches.map((batch) => batch[column]),
        })),
      }}
    />`;
  return html`<${Panel} name="batches" heading="h3" title=${t("pipeline.batches")}>
    <div class="plots">
      ${plot("rates", compact, { input: "input_rows_per_s", processed: "processed_rows_per_s" })}
      ${plot("duration", wholeMilliseconds, { duration: "total_ms" })}
    </div>
  </${Panel}>`;
}

/** @param {{ job: Picture.PipelineJob, plots: Record<string, Record<string, [number, number][]>> }} props */
export function JobPlots({ job, plots }) {
  const shown = job.plots.filter(({ name }) => plots[name]);
  if (shown.length === 0) return null;
  return html`<${Panel} name="plots" heading="h3" title=${t("pipeline.plots")}>
    <div class="plots">
      ${shown.map(
        (plot) => html`<${Chart}
          key=${plot.name}
          title=${bilingual(plot.title)}
          unit=${unitText(plot.unit)}
          chart=${chartOf(plot, plots[plot.name])}
        />`,
      )}
    </div>
  </${Panel}>`;
}

/**
 * @param {Picture.ResultPlot} plot
 * @param {Record<string, [number, number][]>} lines
 */
function chartOf(plot, lines) {
  const isTime = plot.x_title === null;
  const { places, columns } = joined(Object.values(lines));
  return {
    name: plot.name,
    x: {
      places: isTime ? places.map((us) => us / 1e6) : places,
      kind: isTime ? "clock" : "number",
      title: bilingual(plot.x_title),
    },
    y: { print: numberText },
    series: Object.keys(lines).map((line, index) => ({
      name: seriesName(plot, line),
      look: lookOf(index),
      values: columns[index],
    })),
  };
}

/** Words of the job's own in the page's language; names of topics and groups as they are.
    @param {Picture.ResultPlot} plot @param {string} name */
const seriesName = ({ series_texts: texts }, name) => (Object.hasOwn(texts, name) ? bilingual(texts[name]) : name);

/** Units as jobs write them; those that say no more than the title are left out.
    @param {string} unit */
function unitText(unit) {
  if (["1", "x", "money"].includes(unit)) return "";
  /** @type {Record<string, string>} */
  const keys = { messages: "pipeline.unit.messages", "messages/s": "pipeline.plot.messages_unit" };
  const key = keys[unit];
  return key ? t(key) : unit;
}
