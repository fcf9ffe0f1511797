// @ts-check
// The verdict and the figures. While the broker is killed or paused, or the server is silent, both are of the past:
// they turn grey, and the verdict says since when.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { faults } from "../../../common/faults.js";
import { absent, loaded, state } from "../../../common/cluster/view.js";
import { Metrics } from "./metrics.js";
import { Verdict } from "./verdict.js";

const SILENT = ["reconnecting", "refused"];

/** { why: "crashed" | "paused" | "lost", name, since_us } while nothing new can come, else null. Reads signals. */
function standstill(status) {
  const { broken, broker, broker_crashed_us: crashedUs, paused_ms: pausedMs = 0 } = faults.value;
  const lastUs = state.value.cluster.now_us;
  if (SILENT.includes(status)) return loaded.value ? { why: "lost", since_us: lastUs } : null;
  if (pausedMs > 0) return { why: "paused", name: broker ?? state.value.cluster.broker_name, since_us: lastUs };
  return broken.broker_crashed ? { why: "crashed", name: broker, since_us: crashedUs ?? lastUs } : null;
}

export function Overview({ stream }) {
  const gone = useComputed(() => standstill(stream.status.value));
  return html`<div class=${`overview ${gone.value || absent.value ? "is-past" : ""}`}>
    <${Verdict} gone=${gone.value} /><${Metrics} />
  </div>`;
}
