// @ts-check
// The differences of two views of the same moment: which nodes, and of them which parts and queues.

/** Parts that differ because of what was changed, not as a consequence. */
const CHOSEN = ["switched_off"];

/**
 * @typedef {Record<string, any>} Part A part of a view, or the whole of a node.
 * @typedef {{ parts: string[], queues: string[] }} Difference Names of parts, and of queues: "Orders@0".
 * @typedef {Record<string, any>} Command As `commands` of a view has it.
 */

/**
 * What differs, by node; a node that only one world has differs as a whole.
 *
 * @param {Record<string, Part>} left
 * @param {Record<string, Part>} right
 */
export function differences(left, right) {
  /** @type {Record<string, Difference>} */
  const found = {};
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const [one, other] = [left[name], right[name]];
    if (!one || !other) found[name] = { parts: ["node"], queues: [] };
    else {
      const parts = keysThatDiffer(one, other).filter((part) => !CHOSEN.includes(part));
      if (parts.length > 0) found[name] = { parts, queues: parts.flatMap((part) => queuesOf(part, one, other)) };
    }
  }
  return found;
}

/**
 * @param {Part} [one]
 * @param {Part} [other]
 */
const keysThatDiffer = (one, other) =>
  [...new Set([...Object.keys(one ?? {}), ...Object.keys(other ?? {})])].filter(
    (key) => !isSame(one?.[key], other?.[key]),
  );

/**
 * Queues as the stage names them.
 *
 * @param {string} part
 * @param {Part} one
 * @param {Part} other
 * @returns {string[]}
 */
function queuesOf(part, one, other) {
  if (part === "process_queues") return keysThatDiffer(one[part], other[part]);
  if (part !== "topics") return [];
  return keysThatDiffer(one[part], other[part]).flatMap((topic) =>
    keysThatDiffer(one[part]?.[topic]?.queues, other[part]?.[topic]?.queues).map((queue) => `${topic}@${queue}`),
  );
}

/**
 * @param {any} one
 * @param {any} other
 * @returns {boolean}
 */
function isSame(one, other) {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && isSame(one[key], other[key]));
}

/**
 * A command without when it was given.
 *
 * @param {Command} command
 * @returns {Command}
 */
export const actionOf = (command) =>
  Object.fromEntries(Object.entries(command).filter(([field]) => field !== "event" && field !== "time_us"));

/**
 * What was done in one of the worlds only.
 *
 * @param {Command[]} left
 * @param {Command[]} right
 */
export function commandsApart(left, right) {
  /** @param {Command} command */
  const name = (command) => JSON.stringify(actionOf(command));
  /**
   * @param {Command[]} these
   * @param {Command[]} those
   */
  const apart = (these, those) => {
    const others = those.map(name);
    return these.filter((command) => {
      const at = others.indexOf(name(command));
      if (at >= 0) others.splice(at, 1);
      return at < 0;
    });
  };
  return [apart(left, right), apart(right, left)];
}
