// @ts-check
// What of the stage is drawn large, and what as a line: a scenario names the parts that it is about (`focus`), a user
// opens and closes parts, which is remembered, and uninvolved nodes are a line until then.

import { computed, signal } from "@preact/signals";
import { keep, kept } from "../../common/viewer/kept.js";
import { accused, nodes, view } from "../../common/world/view.js";
import { isLegible } from "./presentation.js";

/** How large the stage is drawn: pixels on the screen per pixel of its own. */
export const stageScale = signal(1);

/** How densely its cards are drawn: fitting.js. */
export const density = signal(0);

const KEY = "glassmq.lab.folds";
/** How many scenarios' folding is remembered. */
const REMEMBERED = 40;
const NONE = {};

/** What the user opened (true) or closed (false): [[scenario, { "node B1": true }]], the last one first. */
const byHand = signal(remembered());
/** The same for the scenario that is shown. */
export const folds = computed(() => byHand.value.find(([name]) => name === view.value.scenario)?.[1] ?? NONE);

function remembered() {
  try {
    return JSON.parse(kept(KEY) ?? "null") ?? [];
  } catch {
    return [];
  }
}

function remember(what, isOpen) {
  const { scenario } = view.peek();
  const others = byHand.peek().filter(([name]) => name !== scenario);
  byHand.value = [[scenario, { ...folds.peek(), [what]: isOpen }], ...others].slice(0, REMEMBERED);
  keep(KEY, JSON.stringify(byHand.peek()));
}

const focusOfView = computed(() => view.value.focus);
/** The same set while the list is the same: what reads it is not drawn again with each view. */
export const focus = computed(() => new Set(focusOfView.value));
/** Parts that a lesson has pointed at. */
const pointedAt = signal(new Set());

/** A name server says little, unless the scenario is about routes or it has a problem; a machine whose
    process never ran has nothing to say. */
const standsBy = (name) => {
  const node = nodes.value[name];
  const isServer = node?.role === "name_server";
  if (isServer && focus.value.has("routes")) return false;
  if (node?.status === "off" && !node.has_run && !node.bank) return true;
  return isServer && node.status === "running" && !node.held?.length && !accused.value.has(name);
};

/** Which nodes have a part that a scenario can be about. */
const ROLES_OF = {
  trees: ["consumer"],
  locks: ["broker"],
  order_locks: ["consumer"],
  half_messages: ["broker", "producer"],
  retry: ["consumer", "broker"],
  delay: ["broker"],
  commit_log: ["broker", "raft_peer"],
  replication: ["broker", "raft_peer"],
  page_cache: ["broker", "kafka_broker"],
  queues: ["broker"],
  offsets: ["broker"],
  bank: ["producer", "consumer", "resource_manager"],
  sending: ["producer"],
  filter: ["broker", "consumer"],
  xa: ["transaction_manager", "transaction_coordinator", "resource_manager", "broker", "producer", "consumer"],
  routes: ["name_server", "producer", "consumer"],
  idempotence: ["consumer", "database"],
  database: ["database"],
  redis: ["redis"],
  service: ["service"],
  accumulator: ["kafka_producer"],
  sender: ["kafka_producer"],
  partition_log: ["kafka_broker", "broker"],
  fetcher: ["kafka_consumer"],
  positions: ["kafka_consumer"],
};
/** The scenario of which a stage with large letters has no room for more than the nodes that it is about. */
const foldedRest = signal("");
const rolesInFocus = computed(() => new Set([...focus.value].flatMap((part) => ROLES_OF[part] ?? [])));
/** While letters are large: the others are lines. Set once in a run, so that nothing moves back and forth. */
export const isRestFolded = computed(() => isLegible.value && foldedRest.value === view.value.scenario);
export const foldRest = () => void (foldedRest.value = view.peek().scenario);

const isOfRest = (name) =>
  isRestFolded.value &&
  rolesInFocus.value.size > 0 &&
  !rolesInFocus.value.has(nodes.value[name]?.role) &&
  !accused.value.has(name);

/** Whether a node is drawn as one line. */
export const isFolded = (name) => !(folds.value[`node ${name}`] ?? !(standsBy(name) || isOfRest(name)));

/** Whether a part of the cards, one of engine/lab/scenario/scenario_stage.py, is drawn large. */
export const isFocus = (part) =>
  folds.value[`part ${part}`] ?? (focus.value.size === 0 || focus.value.has(part) || pointedAt.value.has(part));

export const toggleNode = (name) => remember(`node ${name}`, isFolded(name));
export const togglePart = (part) => remember(`part ${part}`, !isFocus(part));
export const openPart = (part) => void (pointedAt.value = new Set([...pointedAt.peek(), part]));
