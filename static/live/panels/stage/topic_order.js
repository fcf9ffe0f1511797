// @ts-check
// The order of the topics on the stage: those that lag most come first, or by name.

import { computed } from "@preact/signals";
import { choice } from "../../../common/viewer/choices.js";
import { compare, userTopics } from "../../../common/cluster/lists.js";
import { isLagging, summedQueue } from "../../../common/topics.js";
import { state } from "../../../common/cluster/view.js";
import { greatestLag, readersOf } from "../../../parts/lane/readers.js";

export const ORDERS = ["lag", "name"];
export const topicOrder = choice("topic-order", "lag");

/** The lag of the group that lags most; 0 for one that is usual. @param {string} topic */
function lagOf(topic) {
  const lag = greatestLag(readersOf(summedQueue(state.value.topics[topic].queues), compare)) ?? 0;
  return isLagging(lag) ? lag : 0;
}

let last = { key: "", names: /** @type {string[]} */ ([]) };

/** Sorted again only when a topic comes or goes or its lag gets another number of digits: a row that one reads or
    points at must not change places with every message. */
export const orderedTopics = computed(() => {
  const names = userTopics.value;
  if (topicOrder.value === "name") return names;
  const lags = new Map(names.map((name) => [name, lagOf(name)]));
  const lag = (/** @type {string} */ name) => lags.get(name) ?? 0;
  const key = names.map((name) => `${name} ${String(lag(name)).length}`).join("\n");
  if (key !== last.key) last = { key, names: [...names].sort((a, b) => lag(b) - lag(a) || compare(a, b)) };
  return last.names;
});
