// @ts-check
// The topics, groups and connections of the state in the order in which the page lists them, and their sums.

import { computed } from "@preact/signals";
import { groupOf, stored } from "../topics.js";
import { steadyList } from "../viewer/lists.js";
import { state } from "./view.js";

const DEFAULT_NAME_SERVER = "127.0.0.1:9876";

/** What a command of this project needs so that it finds this broker; "" where it needs nothing. */
export const nameServerOption = computed(() => {
  const address = state.value.cluster.name_server ?? DEFAULT_NAME_SERVER;
  return address === DEFAULT_NAME_SERVER ? "" : ` --name-server ${address}`;
});

/**
 * A call of the project's own program, as it works in the folder where `make run` was started.
 *
 * @param {string} words
 */
export const glassmqCommand = (words) => `.venv/bin/glassmq ${words}${nameServerOption.value}`;

/** @param {object} object */
const sortedKeys = (object) => Object.keys(object).sort(compare);
/** @param {Picture.TopicKind[]} kinds */
const topicsOfKind = (...kinds) =>
  steadyList(() => sortedKeys(state.value.topics).filter((name) => kinds.includes(state.value.topics[name].kind)));

export const userTopics = topicsOfKind("normal");
export const systemTopics = topicsOfKind("system");
/** Retry and dead-letter topics, the two of one group side by side. */
const groupTopicsUnsorted = topicsOfKind("retry", "dlq");
export const groupTopics = steadyList(() =>
  groupTopicsUnsorted.value.filter(hasHeldMessages).sort((a, b) => compare(groupOf(a), groupOf(b)) || compare(b, a)),
);

/**
 * Every group has a retry topic; most of them always stay empty.
 *
 * @param {string} topic
 */
function hasHeldMessages(topic) {
  return Object.values(state.value.topics[topic].queues).some(({ max }) => max > 0);
}

/** All groups, those with members first: the others have no consumers at the moment. */
export const groupNames = steadyList(() => {
  const { groups } = state.value;
  /** @param {string} group */
  const isOnline = (group) => Object.keys(groups[group].members ?? {}).length > 0;
  return Object.keys(groups).sort((a, b) => Number(isOnline(b)) - Number(isOnline(a)) || compare(a, b));
});
const groupRanks = computed(() => new Map(groupNames.value.map((group, rank) => [group, rank])));
/** @param {string} group */
const rankOf = (group) => groupRanks.value.get(group) ?? Infinity;

/**
 * The order of `groupNames`; groups that are known by their offsets only come last.
 *
 * @param {string} a
 * @param {string} b
 */
export const byGroup = (a, b) => (rankOf(a) === rankOf(b) ? compare(a, b) : rankOf(a) - rankOf(b));
export const addresses = steadyList(() => sortedKeys(state.value.connections));

/**
 * @param {string} a
 * @param {string} b
 */
export function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Messages held in topics of users (system topics left out), also in those that are too many to be drawn. */
export const storedMessages = computed(() =>
  Object.values(state.value.topics).reduce(
    (sum, topic) => (topic.kind === "system" ? sum : sum + stored(topic.queues)),
    state.value.omitted.messages ?? 0,
  ),
);

export const connectionCount = computed(() => addresses.value.length + (state.value.omitted.connections ?? 0));

export const totalLag = computed(() =>
  Object.values(state.value.groups).reduce((sum, group) => sum + (group.lag ?? 0), 0),
);
