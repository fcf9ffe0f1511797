// @ts-check
// The engine's journal names events, tasks and states of nodes; here they are in the page's language.

import { language, t } from "../i18n.js";
import { labData } from "./commands.js";

/**
 * What happened or what a task is called, for users; unknown names stay as they are.
 *
 * @param {string} label
 * @returns {string}
 */
export function labelText(label) {
  if (!label) return label;
  const table = labData.labels?.[language] ?? {};
  if (table[label] !== undefined) return table[label];
  const [first] = label.split(" ", 1);
  const command = labData.commands?.[first];
  if (command && language === "zh") return `${command.name.zh}${label.slice(first.length)}`;
  const begin = Object.keys(table).find((name) => name.endsWith(" ") && label.startsWith(name));
  return begin === undefined ? label : `${table[begin]}${label.slice(begin.length)}`;
}

/**
 * The locks of ordered consumption, by their switches.
 *
 * @type {Record<string, string>}
 */
const LOCKS = { "broker-lock": "broker", "message-queue-lock": "queue", "process-queue-lock": "process" };

/**
 * The name of what a scenario can switch off.
 *
 * @param {string} name
 */
export const switchName = (name) =>
  t(name in LOCKS ? `lab.order.${LOCKS[name]}_name` : `lab.explorer.switch_${name.replaceAll("-", "_")}`);

/**
 * How far a transaction, a branch or a transfer has come. To be prepared means something else for each `kind`.
 *
 * @param {string} state
 * @param {string} kind
 */
export const outcomeName = (state, kind = "") =>
  t(state === "prepared" ? `lab.prepared.${kind}` : `lab.outcome.${state.replaceAll("-", "_")}`);

/**
 * A sentence about why a node does not run; nothing while it runs.
 *
 * @param {Partial<Picture.AnyNode>} node
 */
export function stateText({ role, status, has_run: hasRun, is_starting: isStarting }) {
  if (status === "running" || !status) return "";
  const isRedis = role === "redis" && status === "crashed";
  const why = isRedis
    ? "failed_over"
    : status !== "off"
      ? status
      : isStarting
        ? "starting"
        : hasRun
          ? "shut_down"
          : "off";
  return t(`lab.node.is_${why}`);
}
