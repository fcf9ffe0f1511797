// @ts-check
// The table of commands as engine/lab/scenario/command.py has it: what can be broken, on what, with which fields. The
// forms are made from it.

import tables from "glassmq/lab-tables";
import { bilingual } from "./format.js";
import { ROLE_ORDER, view } from "./view.js";

/** The tables that all pages with a stage share, and what the server wrote into this one: a poster or a recording. */
export const labData = { ...tables, ...JSON.parse(document.getElementById("lab-data")?.textContent ?? "{}") };

/**
 * @typedef {object} CommandKind
 * @property {string} target The kind of thing that it is done to.
 * @property {import("../actions/fields.js").CommandFieldFacts[]} fields
 * @property {Picture.Words} name
 * @property {Picture.Words} what
 */

/**
 * By kind.
 *
 * @type {Record<string, CommandKind>}
 */
export const COMMANDS = labData.commands ?? {};

/** @param {string} kind */
export const commandName = (kind) => bilingual(COMMANDS[kind]?.name) || kind;
/** @param {string} kind */
export const commandText = (kind) => bilingual(COMMANDS[kind]?.what);

/**
 * What a switch of engine/lab/scenario/switches.py is called, and what it means that it is on or off.
 *
 * @param {string} name
 */
export function switchFacts(name) {
  const { name: title, what } = labData.switches?.[name] ?? {};
  return { title: bilingual(title) || name, text: bilingual(what) };
}

/** The most used come first; JSON objects come in alphabetical order. */
const ORDER = [
  "crash",
  "restart",
  "pause-node",
  "resume-node",
  "kill-consumer",
  "stop-consumer",
  "start-consumer",
  "resume-consumer",
  "listener",
  "crash-power",
  "torn-write",
  "clock-skew",
  "disk-full",
  "disk-free",
  "drop-caches",
  "wipe",
  "lose-last-second",
  "flip-in-log",
  "flip-in-state",
  "slow-fsync",
  "fail-fsync",
  "fault",
  "clear-faults",
  "group-lock",
  "give-lock",
  "link-delay",
  "link-loss",
  "link-duplicate",
  "link-reorder",
  "drop-next",
  "delay-next",
  "duplicate-next",
  "partition",
  "heal-link",
  "heal",
  "add-consumer",
  "queue-count",
];
/**
 * @param {string} a
 * @param {string} b
 */
const byOrder = (a, b) => (ORDER.indexOf(a) + 1 || ORDER.length + 1) - (ORDER.indexOf(b) + 1 || ORDER.length + 1);

/**
 * In which states of a node a command makes sense; others always do while it runs.
 *
 * @type {Record<string, string[]>}
 */
const STATES = {
  restart: ["crashed", "off"],
  "start-consumer": ["off", "crashed"],
  "resume-node": ["paused"],
  "pause-node": ["running"],
  "clock-skew": ["running", "paused", "crashed"],
  wipe: ["running", "paused", "crashed", "off"],
  "lose-last-second": ["running", "paused", "crashed", "off"],
  "flip-in-log": ["running", "paused", "crashed", "off"],
  "flip-in-state": ["running", "paused", "crashed", "off"],
};
/** @type {Record<string, string[]>} */
const ROLES = {
  broker: ["broker"],
  "broker or bank": ["broker", "database", "kafka_broker", "kafka_controller", "raft_peer"],
  "raft peer": ["raft_peer"],
  consumer: ["consumer"],
  node: ROLE_ORDER.filter((role) => !role.startsWith("wire_")),
};
/** Covered better by another one of the list, or has a place of its own: the half messages and the dead letters of a
    broker's card, a record of idempotence, a frame on its link. */
const ELSEWHERE = [
  "setting",
  "commit-half",
  "rollback-half",
  "resume-half",
  "resend-dead-letter",
  "free-record",
  "drop-frame",
];

/**
 * Kinds for the menu of one node.
 *
 * @param {string} name
 */
export function kindsForNode(name) {
  const { role, status, bank, page_cache: cache } = view.value.nodes[name] ?? {};
  /** @param {string} target */
  const suits = (target) => (ROLES[target] ?? []).includes(role) || (target === "broker or bank" && Boolean(bank));
  return Object.keys(COMMANDS)
    .filter(
      (kind) =>
        !ELSEWHERE.includes(kind) &&
        (cache || kind !== "drop-caches") &&
        (role === "raft_peer" || kind !== "change-membership") &&
        suits(COMMANDS[kind].target) &&
        (STATES[kind] ?? ["running", "paused"]).includes(status),
    )
    .sort(byOrder);
}

/**
 * Kinds for the palette: everything that does not concern one node or actor.
 *
 * @param {string[]} targets
 */
export const kindsOfTarget = (...targets) =>
  Object.keys(COMMANDS)
    .filter((kind) => targets.includes(COMMANDS[kind].target) && !ELSEWHERE.includes(kind))
    .sort(byOrder);
