// @ts-check
// What the page shows, as signals. The stream writes `latest`; panels read `state`. While the view is paused
// `state` keeps still and the stream goes on behind it.

import { computed, effect, signal } from "@preact/signals";
import { keep, kept } from "../kept.js";
import { EMPTY_HISTORY, historyOf, withSecond } from "./history.js";

/** @type {any} */
const EMPTY_STATE = {
  cluster: {},
  connections: {},
  client_names: {},
  topics: {},
  groups: {},
  locks: {},
  transactions: null,
  delay_levels: null,
  replication: null,
  numbers: null,
  rates: {},
  log: [],
  commit_log: { min_offset: 0, max_offset: 0, flushed_offset: 0, dispatched_offset: 0, file_count: 0, tail: [] },
  omitted: {},
  verdict: null,
  backlogs: {},
  events: [],
};

export const paused = signal(false);
/** How many updates came in since the view was paused. */
export const missedUpdates = signal(0);
/** @type {import("@preact/signals").Signal<Picture.LivePicture>} */
export const state = signal(EMPTY_STATE);
export const history = signal(EMPTY_HISTORY);
/** False until the first snapshot: "nothing known yet" is not the same as "nothing there". */
export const loaded = signal(false);

/** @typedef {{ name: string, leader: string, term: number }} Absence */

/** Says so while another member of a group of brokers leads; else null. */
export const absent = signal(/** @type {Absence | null} */ (null));
/** @param {Absence} told */
export const beAbsent = (told) => (absent.value = told);

let latest = { state: EMPTY_STATE, history: EMPTY_HISTORY, isReal: false };

/**
 * @param {Partial<Picture.LivePicture>} next
 * @param {{ history?: import("./history.js").History }} extra
 */
export function receive(next, { history: sent }) {
  absent.value = null;
  const whole = { ...EMPTY_STATE, ...next };
  const before = sent ? historyOf(sent, (whole.cluster.started_us ?? 0) / 1000) : latest.history;
  latest = { state: whole, history: withSecond(before, whole.rates), isReal: true };
  if (paused.value) missedUpdates.value += 1;
  else show();
}

function show() {
  missedUpdates.value = 0;
  state.value = latest.state;
  history.value = latest.history;
  loaded.value = latest.isReal;
}

/** @param {boolean} value */
export function setPaused(value) {
  paused.value = value;
  if (!value) show();
}

// --------------------------------------------------------------------------------------------- choices of the user

/** @param {string} key */
const stored = (key) => kept(`glassmq.${key}`);

/**
 * A choice that the browser keeps.
 *
 * @param {string} key
 * @param {string} fallback
 */
export function choice(key, fallback) {
  const chosen = signal(stored(key) ?? fallback);
  effect(() => keep(`glassmq.${key}`, chosen.value));
  return chosen;
}

const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
const motionChoice = signal(stored("motion")); // null: as the operating system says
const systemMotion = signal(!reducedMotion.matches);
reducedMotion.addEventListener("change", () => (systemMotion.value = !reducedMotion.matches));

/** Does anything move? Numbers and lengths always update. */
export const motion = computed(() => !paused.value && motionWanted.value);
export const motionWanted = computed(() =>
  motionChoice.value === null ? systemMotion.value : motionChoice.value === "on",
);

/** @param {boolean} on */
export function setMotion(on) {
  const chosen = on ? "on" : "off";
  motionChoice.value = chosen;
  keep("glassmq.motion", chosen);
}
effect(() => void (document.documentElement.dataset.motion = motion.value ? "on" : "off"));

export const laneScale = choice("lane-scale", "log");
export const showSystemTopics = choice("system-topics", "no");
export const shortcuts = choice("shortcuts", "on");
export const topicFilter = signal("");

/** Whether the user opened or closed the section of a topic, by its name. */
export const openTopics = signal(/** @type {Record<string, boolean>} */ ({}));

/** What the pointer or focus is on, to mark the same thing elsewhere: { topic, queueId } or { clientId } or null. */
export const highlighted = signal(/** @type {any | null} */ (null));

/** The group that is shown in detail, or null: the first. */
export const chosenGroup = signal(/** @type {string | null} */ (null));

/** Commit-log offset of the record in the inspector, or null. */
export const inspectedOffset = signal(/** @type {number | null} */ (null));
/** The queue whose entries are open: { topic, queueId }, or null. */
export const inspectedQueue = signal(/** @type {{ topic: string, queueId: string } | null} */ (null));
export const keyMapOpen = signal(false);

// ------------------------------------------------------------------------------------------------------- selections

/** A group that keeps up is a few messages behind too, because it commits with its next pull: no need for alarm. */
const USUAL_LAG = 10;
/** @param {number | null} lag null: unknown. */
export const isLagging = (lag) => lag !== null && lag > USUAL_LAG;

const DEFAULT_NAME_SERVER = "127.0.0.1:9876";

/** What a command of this project needs so that it finds this broker; "" where it needs nothing. */
export const nameServerOption = computed(() => {
  const address = state.value.cluster.name_server ?? DEFAULT_NAME_SERVER;
  return address === DEFAULT_NAME_SERVER ? "" : ` --name-server ${address}`;
});

/**
 * A computed list that keeps its identity while its elements stay the same, so that nothing renders needlessly.
 *
 * @param {() => string[]} make
 */
function steadyList(make) {
  /** @type {string[]} */
  let last = [];
  return computed(() => {
    const next = make();
    if (next.length !== last.length || next.some((value, index) => value !== last[index])) last = next;
    return last;
  });
}

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

/**
 * "%RETRY%billing" -> "billing"
 *
 * @param {string} topic
 */
export function groupOf(topic) {
  return topic.replace(/^%(RETRY|DLQ)%/, "");
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

/** @param {Picture.Topic} topic */
export function queueCounts(topic) {
  let number = 0;
  for (const queue of Object.values(topic.queues)) number += Math.max(0, queue.max - queue.min);
  return number;
}

/** Messages held in topics of users (system topics left out), also in those that are too many to be drawn. */
export const storedMessages = computed(() =>
  Object.values(state.value.topics).reduce(
    (sum, topic) => (topic.kind === "system" ? sum : sum + queueCounts(topic)),
    state.value.omitted.messages ?? 0,
  ),
);

export const connectionCount = computed(() => addresses.value.length + (state.value.omitted.connections ?? 0));

export const totalLag = computed(() =>
  Object.values(state.value.groups).reduce((sum, group) => sum + (group.lag ?? 0), 0),
);
