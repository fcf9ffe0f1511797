// @ts-check
// How far the run has read: the live page's lanes, with Spark's mark next to those of the consumer groups.

import { html } from "htm/preact";
import { count } from "../common/format.js";
import { t } from "../common/i18n.js";
import { brokerAxis, brokerLanes } from "../common/cluster/lanes.js";
import { laneAxis } from "../parts/lane/lane_axis.js";
import { LaneHead } from "../parts/lane/lane_head.js";
import { LaneTable } from "../parts/lane/lane_table.js";
import { SparkMark, TopicMark } from "../parts/lane/marks.js";
import { Panel } from "../parts/panel/panel.js";
import { loaded, state } from "../common/cluster/view.js";

/** Queues of a topic that are drawn; of more the sum. */
const MOST_LANES = 32;

const axis = laneAxis(brokerAxis);
/** Names of queues open nothing here. @type {Picture.LaneSource} */
const source = { ...brokerLanes, open: undefined };

/** @param {{ run: Picture.WholeRun }} props */
export function SparkLanes({ run }) {
  const topics = Object.keys(run.reached).sort();
  const isElsewhere = loaded.value && topics.every((topic) => Object.keys(queuesHere(topic)).length === 0);
  const head = isElsewhere
    ? html`<span class="quiet">${t("pipeline.lanes_elsewhere")}</span>`
    : html`<span class="quiet spark-legend"><${SparkMark} size=${1.3} /> ${t("pipeline.lanes_hint")}</span>`;
  return html`<${Panel} name="lanes" kind="spark-lanes" heading="h3" title=${t("pipeline.lanes")} head=${head}>
    <div class="topics">
      <${LaneHead} axis=${axis} kind=${isElsewhere ? "is-hidden" : ""} />
      ${topics.map((topic) => html`<${TopicLanes} key=${topic} run=${run} topic=${topic} />`)}
    </div>
  </${Panel}>`;
}

/** @param {{ run: Picture.WholeRun, topic: string }} props */
function TopicLanes({ run, topic }) {
  const brokers = Object.entries(run.reached[topic]);
  const reached = run.reached[topic][state.value.cluster.broker_name] ?? {};
  const queues = queuesHere(topic);
  const known = Object.keys(queues).length;
  const title = html`<h4 class="topic-title lanes-topic">
    <${TopicMark} topic=${topic} /><span class="topic-name">${topic}</span>
  </h4>`;
  // A topic of another broker, or one that the broker's page leaves out: figures only.
  if (known === 0) {
    if (!loaded.value) return null;
    return html`<div class="topic">
      ${title}
      <p class="lanes-figures number">
        ${brokers.flatMap(([broker, offsets]) =>
          Object.entries(offsets).map(
            ([id, n]) => html`<span key=${`${broker}:${id}`}><code>${broker}:${id}</code> ${count(n)}</span> `,
          ),
        )}
      </p>
    </div>`;
  }
  const spark = Object.fromEntries(Object.entries(reached).map(([queueId, offset]) => [queueId, { [run.id]: offset }]));
  return html`<div class="topic">
    ${title}
    <${LaneTable}
      reached=${spark}
      isSummed=${known > MOST_LANES}
      ...${{ topic, queues, source, axis }}
    />
  </div>`;
}

/** The queues of a topic that this page's broker has.
    @param {string} topic */
const queuesHere = (topic) => state.value.topics[topic]?.queues ?? {};
