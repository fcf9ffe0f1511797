// @ts-check
// The topics in the middle of the stage: one section per topic, its queues as lanes on a shared axis.

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { Button } from "../../../parts/controls/button.js";
import { LINEAR, LOGARITHMIC } from "../../../parts/lane/lane_scale.js";
import { laneAxis, laneHeight } from "../../../parts/lane/lane_axis.js";
import { LaneHead } from "../../../parts/lane/lane_head.js";
import { TopicLags } from "../../../parts/lane/lag_words.js";
import { LaneTable } from "../../../parts/lane/lane_table.js";
import { laneScale, showSystemTopics } from "../../../common/viewer/choices.js";
import { groupTopics, systemTopics, userTopics } from "../../../common/cluster/lists.js";
import { groupOf, stored } from "../../../common/topics.js";
import { highlighted, openTopics, topicFilter } from "../../../common/cluster/selection.js";
import { loaded, state } from "../../../common/cluster/view.js";
import { brokerClock } from "../../../common/cluster/clock.js";
import { brokerAxis, brokerLanes } from "../../../common/cluster/lanes.js";
import { askForTopic, askToSend } from "../../../common/cluster/asked.js";
import { HowToConsume, SendCommand } from "../nothing_yet.js";
import { MoreTopics } from "./more_topics.js";
import { orderedTopics, ORDERS, topicOrder } from "./topic_order.js";
import { Command, Empty, GroupMark, SparkMark, TopicMark } from "../../../parts/lane/marks.js";
import { Select } from "../../../parts/panel/select.js";
import { Segmented, Switch, TextInput } from "../../../parts/controls/choices.js";

/** Sections start open while the topics have no more queues than this in all; then they start as one summed lane. */
const MOST_OPEN_LANES = 48;

const axis = laneAxis(brokerAxis);

export function Topics() {
  const scroller = useRef(null);
  const matches = (topic) => topic.toLowerCase().includes(topicFilter.value.trim().toLowerCase());
  const users = orderedTopics.value.filter(matches);
  const groups = groupTopics.value.filter(matches);
  const system = showSystemTopics.value === "yes" ? systemTopics.value.filter(matches) : [];
  const hasJobs = useComputed(() => brokerAxis.jobs() > 0);
  const nothing = users.length + groups.length + system.length === 0;
  const isAsked = topicFilter.value.trim() !== "" && state.value.omitted.topics > 0;
  const startOpen = useStartOpen([...users, ...groups]);
  const section = (topic) =>
    html`<${TopicSection} key=${topic} topic=${topic} startOpen=${startOpen} scroller=${scroller} />`;
  return html`<div class=${`topics ${hasJobs.value ? "has-jobs" : ""}`}>
    <${TopicTools} />
    <${LaneHead} axis=${axis} kind=${nothing ? "is-unused" : ""}>
      <span class="lane-legend">
        <i class="lane-legend-unread"></i>
        ${t("live.lane.legend_unread")}
        <i class="lane-legend-read"></i>
        ${t("live.lane.legend_read")}
        ${hasJobs.value && html`<${SparkMark} size=${1.2} />${t("live.lane.legend_spark")}`}
      </span>
    </${LaneHead}>
    <div class="topics-scroll" ref=${scroller} tabindex="0" role="group" aria-label=${t("word.topics_and_queues")}>
      ${nothing && !isAsked && html`<${NoTopics} />`}
      ${users.map(section)}
      ${groups.length > 0 && html`<h3 class="topics-divider">${t("live.topics.of_groups")}</h3>`}
      ${groups.map(section)}
      ${system.length > 0 && html`<h3 class="topics-divider">${t("live.topics.system")}</h3>`}
      ${system.map(section)}
      ${state.value.omitted.topics > 0 && html`<${MoreTopics} text=${topicFilter.value.trim()} />`}
    </div>
  </div>`;
}

function TopicTools() {
  return html`<div class="topics-tools">
    <h2 class="panel-title">
      ${t("word.topics_and_queues")} <span class="quiet number">${count(userTopics.value.length)}</span>
    </h2>
    <${Button} aria-haspopup="dialog" onClick=${askForTopic}>${t("operator.new_topic")}</${Button}>
    <label class="field">
      <span class="sr-only">${t("keys.filter")}</span>
      <${TextInput} of=${topicFilter} id="topic-filter" type="search" placeholder=${t("keys.filter")} />
    </label>
    <label class="field">
      <span class="sr-only">${t("live.topics.order")}</span>
      <${Select}
        id="topic-order"
        value=${topicOrder.value}
        choose=${(order) => (topicOrder.value = order)}
        options=${ORDERS.map((order) => [order, t(`live.topics.order_${order}`)])}
      />
    </label>
    <span class="quiet scale-word" aria-hidden="true">${t("live.topics.scale")}</span>
    <${Segmented}
      name="lane-scale"
      legend=${t("live.topics.scale")}
      options=${[LOGARITHMIC, LINEAR].map((scale) => [
        scale,
        t(`live.topics.scale_${scale}`),
        t(`live.topics.scale_${scale}_hint`),
      ])}
      chosen=${laneScale.value}
      choose=${(scale) => (laneScale.value = scale)}
    />
    <${Switch}
      text=${t("live.topics.system")}
      isOn=${showSystemTopics.value === "yes"}
      set=${(isOn) => (showSystemTopics.value = isOn ? "yes" : "no")}
    />
  </div>`;
}

function NoTopics() {
  if (!loaded.value) return html`<${Empty} title=${t("live.waiting")} />`;
  if (topicFilter.value.trim()) {
    return html`<${Empty} title=${t("live.topics.none_match", { text: topicFilter.value.trim() })}>
      <${Button} onClick=${() => (topicFilter.value = "")}>${t("live.topics.clear_filter")}</${Button}>
    </${Empty}>`;
  }
  return html`<${FirstSteps} />`;
}

/** A broker without topics: what to do to see it work. */
function FirstSteps() {
  const address = useComputed(() => state.value.cluster.name_server);
  return html`<${Empty} title=${t("live.topics.none")}>
    <ol class="first-steps" role="list">
      <li>
        <p>${t("live.topics.none_next")}</p><${SendCommand} />${" "}
        <${Button} aria-haspopup="dialog" onClick=${() => askToSend()}>${t("operator.send")}</${Button}>
      </li>
      <li><${HowToConsume} /></li>
      <li><p>${t("live.topics.own_client")}</p><${Command} text=${address.value ?? "127.0.0.1:9876"} /></li>
    </ol>
  </${Empty}>`;
}

/** Whether sections start open, decided by how many lanes there are; it does not flip back and forth later. */
function useStartOpen(topics) {
  const tooMany = useRef(false);
  const lanes = topics.reduce((sum, topic) => sum + Object.keys(state.peek().topics[topic]?.queues ?? {}).length, 0);
  if (lanes > MOST_OPEN_LANES) tooMany.current = true;
  if (lanes < MOST_OPEN_LANES / 2) tooMany.current = false;
  return !tooMany.current;
}

function TopicSection({ topic, startOpen, scroller }) {
  const part = useComputed(() => state.value.topics[topic]);
  const reached = useComputed(() => state.value.spark?.offsets?.[topic]);
  const [place, isNear] = useIsNear(scroller);
  const open = openTopics.value[topic] ?? startOpen;
  const toggle = () => (openTopics.value = { ...openTopics.value, [topic]: !open });
  const queues = part.value?.queues ?? {};
  const rows = Object.keys(queues).length;
  const isSummed = !open && rows > 0;
  const lanes = { topic, queues, reached: reached.value, source: brokerLanes };
  return html`<section class="topic" ref=${place} data-topic=${topic}>
    <div class="topic-title">
      <h3><${Button}
        class="topic-toggle" aria-expanded=${open} onClick=${toggle} onFocus=${() => (highlighted.value = { topic })}
        onBlur=${() => (highlighted.value = null)}
      >
        <span class="chevron" aria-hidden="true"></span><${TopicMark} topic=${topic} />
        <${TopicName} topic=${topic} />
      </${Button}></h3>
      ${isNear && html`<${TopicLags} ...${lanes} clock=${brokerClock} /><${TopicFacts} topic=${topic} />`}
    </div>
    ${
      isNear
        ? html`<${LaneTable} ...${lanes} isSummed=${isSummed} axis=${axis} />`
        : html`<div
            class="lanes-placeholder"
            style=${{ height: `${(isSummed ? 1 : rows) * laneHeight.value}px` }}
          ></div>`
    }
  </section>`;
}

function TopicName({ topic }) {
  const kind = state.peek().topics[topic]?.kind;
  if (kind !== "retry" && kind !== "dlq") return html`<span class="topic-name">${topic}</span>`;
  return html`
    <span class=${`kind kind-${kind}`}>${t(`topic.kind_${kind}`)}</span>
    <${GroupMark} group=${groupOf(topic)} size=${1.2} /><span class="topic-name">${groupOf(topic)}</span>
    <span class="sr-only">${topic}</span>
  `;
}

function TopicFacts({ topic }) {
  const facts = useComputed(() => state.value.topics[topic]);
  if (!facts.value) return null;
  const { perm, read_queues: read, write_queues: write, omitted_queues: omitted = 0 } = facts.value;
  const rights = { 0: "none", 2: "write", 4: "read" }[perm & 6];
  return html`<span class="topic-facts">
    ${omitted > 0 && html`<span>${t("live.topics.omitted_queues", { n: omitted })}</span>`}
    ${Object.keys(facts.value.queues).length === 0 && html`<span>${t("live.topics.no_queue_used")}</span>`}
    ${
      facts.value.kind === "normal" &&
      html`<${Button}
        class="button row-button" aria-haspopup="dialog" aria-label=${t("operator.send_title_to", { topic })}
        onClick=${() => askToSend(topic)}
      >
        ${t("operator.send")}
      </${Button}>`
    }
    <span title=${t("live.topics.stored_hint")}>
      <span class="number">${count(stored(facts.value.queues))}</span> ${t("live.topics.stored")}
    </span>
    ${
      rights &&
      html`<span class="badge badge-warning" title=${t("live.topics.perm_hint", { read, write })}>
        ${t(`live.topics.only_${rights}`)}
      </span>`
    }
  </span>`;
}

/** True while the element is in or near the scrolled part: far sections are placeholders of the same height. */
function useIsNear(scroller) {
  const place = useRef(/** @type {any} */ (null));
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => setNear(entries[entries.length - 1].isIntersecting), {
      root: scroller.current,
      rootMargin: "200px 0px",
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return [place, isNear];
}
