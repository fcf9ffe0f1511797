// @ts-check
// How far the run has read: the live page's lanes, with Spark's mark next to those of the consumer groups.

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { count } from "../common/format.js";
import { t } from "../common/i18n.js";
import { laneWidth } from "../parts/lane/lane_axis.js";
import { LaneRow } from "../parts/lane/lane.js";
import { AxisTicks } from "../parts/lane/lane_ticks.js";
import { SparkMark, TopicMark } from "../parts/lane/marks.js";
import { loaded, state } from "../common/cluster/view.js";

/** Queues of a topic that are drawn; of more the sum. */
const MOST_LANES = 32;

export function SparkLanes({ run }) {
  const axis = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const observer = new ResizeObserver(
      ([entry]) => (laneWidth.value = Math.max(120, Math.floor(entry.contentRect.width))),
    );
    if (axis.current) observer.observe(axis.current);
    return () => observer.disconnect();
  }, []);
  const topics = Object.keys(run.reached).sort();
  const isElsewhere = loaded.value && topics.every((topic) => queuesHere(topic).length === 0);
  return html`<section class="panel spark-lanes" aria-labelledby="lanes-title">
    <header class="panel-head">
      <h3 class="panel-title" id="lanes-title">${t("pipeline.lanes")}</h3>
      ${
        isElsewhere
          ? html`<span class="quiet">${t("pipeline.lanes_elsewhere")}</span>`
          : html`<span class="quiet spark-legend"><${SparkMark} size=${1.3} /> ${t("pipeline.lanes_hint")}</span>`
      }
    </header>
    <div class="topics">
      <div class=${`lane-axis lane-columns ${isElsewhere ? "is-hidden" : ""}`} aria-hidden="true">
        <span></span>
        <span ref=${axis} class="lane-axis-scale"><${AxisTicks} /></span>
        <span class="number">${t("live.lane.max")}</span>
        <span>${t("live.lane.lag")}</span>
      </div>
      ${topics.map((topic) => html`<${TopicLanes} key=${topic} run=${run} topic=${topic} />`)}
    </div>
  </section>`;
}

function TopicLanes({ run, topic }) {
  const reached = ofBroker(run.reached[topic], state.value.cluster.broker_name);
  const known = queuesHere(topic);
  const title = html`<h4 class="topic-title lanes-topic">
    <${TopicMark} topic=${topic} /><span class="topic-name">${topic}</span>
  </h4>`;
  // A topic of another broker, or one that the broker's page leaves out: figures only.
  if (known.length === 0) {
    if (!loaded.value) return null;
    return html`<div class="topic">
      ${title}
      <p class="lanes-figures number">
        ${Object.entries(run.reached[topic]).map(
          ([queue, offset]) => html`<span key=${queue}><code>${queue}</code> ${count(offset)}</span> `,
        )}
      </p>
    </div>`;
  }
  const rows = known.length > MOST_LANES ? [null] : known.map(String);
  const spark = Object.fromEntries(Object.entries(reached).map(([queueId, offset]) => [queueId, { [run.id]: offset }]));
  return html`<div class="topic">
    ${title}
    <table class="lanes">
      <tbody>
        ${rows.map(
          (queueId) =>
            html`<${LaneRow}
              key=${queueId ?? "all"}
              topic=${topic}
              queueId=${queueId}
              spark=${spark}
              isPlain=${true}
            />`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** The queues of a topic that this page's broker has. */
const queuesHere = (topic) =>
  Object.keys(state.value.topics[topic]?.queues ?? {})
    .map(Number)
    .sort((a, b) => a - b);

/** {"broker-a:0": 5} -> {"0": 5} */
function ofBroker(queues, brokerName) {
  const own = Object.entries(queues).filter(([queue]) => queue.slice(0, queue.lastIndexOf(":")) === brokerName);
  return Object.fromEntries(own.map(([queue, offset]) => [queue.slice(queue.lastIndexOf(":") + 1), offset]));
}
