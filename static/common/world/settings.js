// @ts-check
// Timers and sizes of the nodes, as the server wrote them into the page: names, defaults, units, bounds; and which of
// them is behind a timer or a part of the stage.

import { computed } from "@preact/signals";
import { labData } from "./commands.js";
import { view } from "./view.js";

const { settings: SETTINGS = {}, timers: TIMERS = {}, stage: STAGE = {} } = labData;

/** What scenario and commands have set; the same list as long as nothing changes. */
const changed = computed(() => view.value.settings);

const roleOf = (node) => view.peek().nodes[node]?.role;

/** Facts about a setting: { name, java, default, unit, low, high, is_whole, choices }, or null. */
export function settingFacts(node, name) {
  const facts = SETTINGS[roleOf(node)]?.[name];
  return facts ? { name, ...facts } : null;
}

/** A listener that does no work is not kept from doing it twice. */
const isOf = (node, name) => !name.startsWith("idempotence_") || Boolean(view.peek().nodes[node]?.idempotence);

/** Names of all settings of a node. */
export const settingNames = (node) => Object.keys(SETTINGS[roleOf(node)] ?? {}).filter((name) => isOf(node, name));

/** Those that rule what one sees of the node. */
export function seenSettings(node) {
  const role = roleOf(node);
  return [...new Set([...Object.values(STAGE[role] ?? {}), ...Object.values(TIMERS[role] ?? {})])].filter(
    (name) => SETTINGS[role]?.[name] && isOf(node, name),
  );
}

/** What the setting of a node is now: what was set, or the default. */
export function settingValue(node, name) {
  const set = changed.value.find((one) => one.node === node && one.name === name);
  return set ? set.value : settingFacts(node, name)?.default;
}

/** The setting behind a timer, by the timer's name; null where there is none. */
export function settingOfTimer({ node, label, actor }) {
  const name = label || actor.split("/").at(-1);
  const found = Object.keys(TIMERS[roleOf(node)] ?? {}).filter((begin) => name.startsWith(begin));
  // "flush-commit-log" and "flush-commit-log-timer" both begin so: the longest one counts.
  found.sort((a, b) => b.length - a.length);
  return found.length > 0 ? TIMERS[roleOf(node)][found[0]] : null;
}

/** The setting that rules a part of a node on the stage. */
export const settingOfPart = (node, part) => STAGE[roleOf(node)]?.[part] ?? null;
