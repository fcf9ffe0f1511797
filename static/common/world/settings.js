// @ts-check
// Timers and sizes of the nodes, as the server wrote them into the page: names, defaults, units, bounds; and which of
// them is behind a timer or a part of the stage.

import { computed } from "@preact/signals";
import { labData } from "./commands.js";
import { view } from "./view.js";

/**
 * @typedef {object} SettingFacts
 * @property {string} name
 * @property {string} java Its name in RocketMQ.
 * @property {any} default
 * @property {string} unit
 * @property {number} [low]
 * @property {number} [high]
 * @property {boolean} is_whole
 * @property {string[]} [choices]
 */

/** @type {Record<string, Record<string, Omit<SettingFacts, "name">>>} By role and name. */
const SETTINGS = labData.settings ?? {};
/** @type {Record<string, Record<string, string>>} By role and the begin of a timer's name. */
const TIMERS = labData.timers ?? {};
/** @type {Record<string, Record<string, string>>} By role and part of the node. */
const STAGE = labData.stage ?? {};

/** What scenario and commands have set; the same list as long as nothing changes. */
const changed = computed(() => view.value.settings);

/** @param {string} node */
const roleOf = (node) => view.peek().nodes[node]?.role ?? "";

/**
 * Facts about a setting, or null.
 *
 * @param {string} node
 * @param {string} name
 * @returns {SettingFacts | null}
 */
export function settingFacts(node, name) {
  const facts = SETTINGS[roleOf(node)]?.[name];
  return facts ? { name, ...facts } : null;
}

/**
 * The same of a setting that the node has.
 *
 * @param {string} node
 * @param {string} name
 */
export function knownSettingFacts(node, name) {
  const facts = settingFacts(node, name);
  if (facts === null) throw new TypeError(`${node} has no setting ${name}`);
  return facts;
}

/**
 * A listener that does no work is not kept from doing it twice.
 *
 * @param {string} node
 * @param {string} name
 */
const isOf = (node, name) => !name.startsWith("idempotence_") || Boolean(view.peek().nodes[node]?.idempotence);

/**
 * Names of all settings of a node.
 *
 * @param {string} node
 */
export const settingNames = (node) => Object.keys(SETTINGS[roleOf(node)] ?? {}).filter((name) => isOf(node, name));

/**
 * Those that rule what one sees of the node.
 *
 * @param {string} node
 */
export function seenSettings(node) {
  const role = roleOf(node);
  return [...new Set([...Object.values(STAGE[role] ?? {}), ...Object.values(TIMERS[role] ?? {})])].filter(
    (name) => SETTINGS[role]?.[name] && isOf(node, name),
  );
}

/**
 * What the setting of a node is now: what was set, or the default.
 *
 * @param {string} node
 * @param {string} name
 */
export function settingValue(node, name) {
  const set = changed.value.find((one) => one.node === node && one.name === name);
  return set ? set.value : settingFacts(node, name)?.default;
}

/**
 * The setting of a timer, by the timer's name, or null.
 *
 * @param {Pick<Picture.Timer, "node" | "label" | "actor">} timer
 */
export function settingOfTimer({ node, label, actor }) {
  const name = label || actor.slice(actor.lastIndexOf("/") + 1);
  const found = Object.keys(TIMERS[roleOf(node)] ?? {}).filter((begin) => name.startsWith(begin));
  // "flush-commit-log" and "flush-commit-log-timer" both begin so: the longest one counts.
  found.sort((a, b) => b.length - a.length);
  return found.length > 0 ? TIMERS[roleOf(node)][found[0]] : null;
}

/**
 * The setting that rules a part of a node on the stage.
 *
 * @param {string} node
 * @param {string} part
 */
export const settingOfPart = (node, part) => STAGE[roleOf(node)]?.[part] ?? null;
