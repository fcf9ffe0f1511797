// @ts-check
// What a lesson can point at, by name, and its place on the page. The kinds and their words are those of
// app/lessons/stage_targets.py; the node's name, the topic, the key are in the scenario.

import { t } from "../common/i18n.js";
import { showPanel } from "../parts/controls/dock.js";
import { openPart } from "../parts/stage/folding.js";
import { view } from "../common/world/view.js";

const inNode = (name, selector = "") => document.querySelector(`#stage [data-node="${CSS.escape(name)}"] ${selector}`);
const queueOf = (broker, topic, id) => inNode(broker, `[data-queue="${CSS.escape(`${topic}@${id}`)}"]`);

const treeOf = (consumer, queue, name) =>
  inNode(consumer, `[data-process-queue="${CSS.escape(queue)}"] [data-tree="${name}"]`);

/** Kind -> the element that stands for it now, or null while there is none. */
export const TARGETS = {
  node: (name) => inNode(name),
  routes: (nameServer) => inNode(nameServer, ".node-line") ?? inNode(nameServer, ".node-summary"),
  sends: (producer) => inNode(producer, ".figure-cells"),
  "commit-log": (broker) => inNode(broker, ".commit-log"),
  copies: (broker) => inNode(broker, "[data-part=replication]"),
  "page-cache": (node) => inNode(node, "[data-part=page-cache]"),
  "disk-arm": (node) => inNode(node, "[data-arm]"),
  record: (broker, key) => inNode(broker, `[data-record="${recordOffset(broker, key)}"]`),
  queue: queueOf,
  partition: queueOf,
  isr: (node, topic, id) =>
    queueOf(node, topic, id)?.querySelector("[data-isr]") ??
    inNode(node, `[data-decided="${CSS.escape(`${topic}@${id}`)}"] [data-isr]`),
  "high-watermark": (broker, topic, id) =>
    queueOf(broker, topic, id)?.querySelector("[data-figure=high-watermark]") ?? null,
  entry: (broker, topic, id, offset) =>
    queueOf(broker, topic, id)?.querySelector(`[data-entry="${CSS.escape(offset)}"]`) ?? null,
  committed: (broker, topic, id, group) =>
    queueOf(broker, topic, id)?.querySelector(`[data-committed="${CSS.escape(group)}"]`) ?? null,
  "held-pulls": (broker) => inNode(broker, "[data-part=held-pulls]"),
  "process-queue": (consumer, queue) => inNode(consumer, `[data-process-queue="${CSS.escape(queue)}"]`),
  "waiting-tree": (consumer, queue) => treeOf(consumer, queue, "msgTreeMap"),
  "consuming-tree": (consumer, queue) => treeOf(consumer, queue, "consumingMsgOrderlyTreeMap"),
  lock: (broker, group, queue) => inNode(broker, `[data-lock="${CSS.escape(`${group} ${queue}`)}"]`),
  listener: (consumer) => inNode(consumer, ".listener-calls"),
  filter: (consumer) => inNode(consumer, "[data-part=filter]"),
  "delay-levels": (broker) => inNode(broker, "[data-part=delay-levels]"),
  "half-messages": (broker) => inNode(broker, "[data-part=half-messages]"),
  "local-transactions": (producer) => inNode(producer, "[data-part=local-transactions]"),
  bank: (node) => inNode(node, "[data-part=bank]"),
  "cash-machine": (node) => inNode(node, "[data-part=cash-machine]"),
  "global-transactions": (coordinator) => inNode(coordinator, "[data-part=global-transactions]"),
  branches: (resourceManager) => inNode(resourceManager, "[data-part=branches]"),
  guard: (consumer) => inNode(consumer, "[data-part=idempotence]"),
  orders: (database) => inNode(database, "[data-part=database]"),
  records: (store) => inNode(store, "[data-part=records]"),
  calls: (service) => inNode(service, "[data-part=service]"),
  "raft-log": (peer) => inNode(peer, "[data-part=raft-log]"),
  "fault-menu": (node) => inNode(node, ".fault-button"),
  panel: (name) => document.getElementById(`tab-${name}`)?.closest(".tab-group") ?? null,
  control: (name) => CONTROLS[name]?.() ?? document.getElementById(`control-${name}`),
};

const CONTROLS = {
  "run-until": () => document.getElementById("run-until"),
  speed: () => document.getElementById("speed")?.closest(".speed"),
  scrub: () => document.getElementById("scrub")?.closest(".scrub"),
};

function recordOffset(broker, key) {
  const records = view.peek().nodes[broker]?.commit_log?.records ?? [];
  return records.findLast((record) => record.key === key)?.offset ?? "";
}

/** "queue B1 Greetings 0" -> { kind: "queue", words: ["B1", "Greetings", "0"] } */
export function parseTarget(target) {
  const [kind, ...words] = target.split(" ");
  return { kind, words };
}

/** The element of a target; null while the stage does not show it. */
export function elementOf(target) {
  const { kind, words } = parseTarget(target);
  return TARGETS[kind]?.(...words) ?? null;
}

/** The same; a thing that is not there yet is stood in for by the node that will hold it. */
export function elementOrHolder(target) {
  const { words } = parseTarget(target);
  return elementOf(target) ?? queueOf(...words) ?? inNode(words[0]);
}

const PARTS = {
  "commit-log": "commit_log",
  record: "commit_log",
  copies: "replication",
  "page-cache": "page_cache",
  "disk-arm": "page_cache",
  lock: "locks",
  "delay-levels": "delay",
  "half-messages": "half_messages",
  guard: "idempotence",
  orders: "database",
  records: "idempotence",
  calls: "service",
  partition: "partition_log",
  isr: "partition_log",
  "high-watermark": "partition_log",
};
const QUEUES = ["queue", "entry", "committed"];

/** Opens the part of a card that a target is in. */
export function unfold(target) {
  const { kind, words } = parseTarget(target);
  const topic = QUEUES.includes(kind) ? words[1] : "";
  const part = /^%(RETRY|DLQ)%/u.test(topic) ? "retry" : /^(RMQ_SYS_)?TRANS_/u.test(topic) ? "own_topics" : PARTS[kind];
  if (part) openPart(part);
}

/** Brings a target to where it can be seen: a panel behind a tab comes to the front. */
export function reveal(target) {
  const { kind, words } = parseTarget(target);
  if (kind === "panel") showPanel(words[0]);
}

/** What a target is called, in the page's language. */
export function targetName(target) {
  const { kind, words } = parseTarget(target);
  const [first = "", second = "", third = "", fourth = ""] = words;
  if (kind === "panel") return t("lesson.target.panel", { name: t(`lab.panel.${first}`) });
  if (kind === "control") return t(`lab.controls.${first.replaceAll("-", "_")}`);
  if (kind === "node") return t("lesson.target.node", { first, role: t(`lab.role.${roleOf(first)}`) });
  return t(`lesson.target.${kind.replaceAll("-", "_")}`, { first, second, third, fourth });
}

/** One sentence that says what one sees there. */
export function targetText(target) {
  const { kind, words } = parseTarget(target);
  return kind === "node" ? t(`lesson.about.node_${roleOf(words[0])}`) : t(`lesson.about.${kind.replaceAll("-", "_")}`);
}

/** A member that joins in the course of a lesson is a consumer. */
const roleOf = (node) => view.peek().nodes[node]?.role ?? "consumer";
