// The row of figures under the header, each with the last minute as a small line.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { bytes, compact, count, microseconds, milliseconds } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { rateOf } from "../../history.js";
import { addresses, groupNames, history, isLagging, loaded, state, storedMessages, totalLag } from "../../view.js";

const SPARK_SECONDS = 60;
const SPARK_WIDTH = 96;
const SPARK_HEIGHT = 26;

export function Metrics() {
  const rates = useComputed(() => state.value.rates);
  const { in_messages: into, out_messages: out, in_bytes: inBytes, out_bytes: outBytes } = rates.value;
  const end = useComputed(() => state.value.commit_log.max_offset - state.value.commit_log.min_offset);
  const rate = (name) => rateOf(rates.value, name);
  const known = (value) => (loaded.value ? value : "–");
  return html`<section class="metrics" aria-label=${t("live.metrics.title")}>
    <${Metric}
      name="in"
      value=${known(compact(into ?? 0))}
      unit=${t("unit.per_second")}
      detail=${known(`${bytes(inBytes ?? 0)}/s`)}
      column="in_messages"
    />
    <${Metric}
      name="out"
      value=${known(compact(out ?? 0))}
      unit=${t("unit.per_second")}
      detail=${known(`${bytes(outBytes ?? 0)}/s`)}
      column="out_messages"
    />
    <${Metric}
      name="stored"
      value=${known(compact(storedMessages.value))}
      unit=${t("unit.messages")}
      detail=${known(t("live.metrics.log_size", { size: bytes(end.value) }))}
    />
    <${Metric}
      name="lag"
      value=${known(compact(totalLag.value))}
      unit=${t("unit.messages")}
      detail=${known(t("live.metrics.groups", { n: groupNames.value.length }))}
      alert=${isLagging(totalLag.value)}
    />
    <${Metric}
      name="put"
      value=${known(microseconds(rate("put_p99_us")))}
      detail=${known(t("live.metrics.median", { value: microseconds(rate("put_p50_us")) }))}
      column="put_p99_us"
    />
    <${Metric}
      name="deliver"
      value=${known(milliseconds(rate("deliver_p99_ms")))}
      detail=${known(t("live.metrics.median", { value: milliseconds(rate("deliver_p50_ms")) }))}
      column="deliver_p99_ms"
    />
    <${Metric} name="clients" value=${known(count(addresses.value.length))} detail=${known(t("live.metrics.tcp"))} />
  </section>`;
}

function Metric({ name, value, unit, detail, column, alert = false }) {
  return html`<div class=${`metric metric-${name}`} title=${t(`live.metrics.${name}_hint`)} data-metric=${name}>
    <p class="metric-name">${t(`live.metrics.${name}`)}</p>
    <p class="metric-value">
      <span class=${`number ${alert ? "has-lag" : ""}`}>${value}</span>
      ${unit && html`<span class="unit"> ${unit}</span>`}
    </p>
    <p class="metric-detail number">${detail}</p>
    ${column && html`<${Spark} column=${column} />`}
  </div>`;
}

function Spark({ column }) {
  const values = history.value[column].slice(-SPARK_SECONDS).map((value) => value ?? 0);
  if (values.length < 2)
    return html`<svg class="spark" width=${SPARK_WIDTH} height=${SPARK_HEIGHT} aria-hidden="true"></svg>`;
  const most = Math.max(1, ...values);
  const step = SPARK_WIDTH / (SPARK_SECONDS - 1);
  const left = SPARK_WIDTH - (values.length - 1) * step;
  const points = values.map(
    (value, index) =>
      `${(left + index * step).toFixed(1)} ${(SPARK_HEIGHT - 2 - (value / most) * (SPARK_HEIGHT - 5)).toFixed(1)}`,
  );
  return html`<svg class="spark" width=${SPARK_WIDTH} height=${SPARK_HEIGHT} aria-hidden="true">
    <path class="spark-area" d=${`M${left.toFixed(1)} ${SPARK_HEIGHT}L${points.join("L")}V${SPARK_HEIGHT}Z`} />
    <path class="spark-line" d=${`M${points.join("L")}`} />
  </svg>`;
}
