// @ts-check
// The figures next to the verdict, each with what it means on hover; the plots show their history.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { bytes, compact, count, microseconds, milliseconds } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { rateOf } from "../../../common/cluster/history.js";
import { connectionCount, groupNames, storedMessages, totalLag } from "../../../common/cluster/lists.js";
import { loaded, state } from "../../../common/cluster/view.js";

export function Metrics() {
  const rates = useComputed(() => state.value.rates);
  const { in_messages: into, out_messages: out, in_bytes: inBytes, out_bytes: outBytes } = rates.value;
  const end = useComputed(() => state.value.commit_log.max - state.value.commit_log.min);
  // The verdict judges, by a threshold that can be set.
  const isBehind = useComputed(() => state.value.verdict?.clauses.some(({ rule }) => rule === "group_behind"));
  const rate = (name) => rateOf(rates.value, name);
  const median = (value) => t("live.metrics.median", { value });
  return html`<section class="metrics" aria-label=${t("live.metrics.title")}>
    <${Metric} name="in" value=${compact(into ?? 0)} unit="/s" detail=${`${bytes(inBytes ?? 0)}/s`} />
    <${Metric} name="out" value=${compact(out ?? 0)} unit="/s" detail=${`${bytes(outBytes ?? 0)}/s`} />
    <${Metric}
      name="lag"
      value=${compact(totalLag.value)}
      detail=${t("live.metrics.groups", { n: groupNames.value.length })}
      alert=${isBehind.value}
    />
    <${Metric}
      name="put"
      value=${microseconds(rate("put_p99_us"))}
      detail=${median(microseconds(rate("put_p50_us")))}
    />
    <${Metric}
      name="deliver"
      value=${milliseconds(rate("deliver_p99_ms"))}
      detail=${median(milliseconds(rate("deliver_p50_ms")))}
    />
    <${Metric}
      name="stored"
      value=${compact(storedMessages.value)}
      detail=${t("live.metrics.log_size", { size: bytes(end.value) })}
    />
    <${Metric} name="clients" value=${count(connectionCount.value)} detail=${t("live.metrics.tcp")} />
  </section>`;
}

function Metric({ name, value, unit, detail, alert = false }) {
  return html`<div class="metric" title=${`${t(`live.metrics.${name}_hint`)}\n${detail}`}>
    <p class="metric-name">${t(`live.metrics.${name}`)}</p>
    <p class="metric-value">
      <span class=${`number ${alert ? "has-lag" : ""}`}>${loaded.value ? value : "–"}</span>
      ${unit && html`<span class="unit">${unit}</span>`}
    </p>
    <p class="metric-detail number">${loaded.value ? detail : "–"}</p>
  </div>`;
}
