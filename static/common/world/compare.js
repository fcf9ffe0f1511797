// @ts-check
// The differences of two views of the same moment: which nodes, and of them which parts and queues.

/** Parts that differ because of what was changed, not as a consequence. */
const CHOSEN = ["switched_off"];

/** { node: { parts: [names], queues: ["Orders@0"] } }; a node that only one world has differs as a whole. */
export function differences(left, right) {
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

const keysThatDiffer = (one, other) =>
  [...new Set([...Object.keys(one ?? {}), ...Object.keys(other ?? {})])].filter(
    (key) => !isSame(one?.[key], other?.[key]),
  );

/** Queues as the stage names them. */
function queuesOf(part, one, other) {
  if (part === "process_queues") return keysThatDiffer(one[part], other[part]);
  if (part !== "topics") return [];
  return keysThatDiffer(one[part], other[part]).flatMap((topic) =>
    keysThatDiffer(one[part]?.[topic]?.queues, other[part]?.[topic]?.queues).map((queue) => `${topic}@${queue}`),
  );
}

function isSame(one, other) {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && isSame(one[key], other[key]));
}

/** A command without when it was given. */
export const actionOf = (command) =>
  Object.fromEntries(Object.entries(command).filter(([field]) => field !== "event" && field !== "time_us"));

/** What was done in one of the worlds only: [left's, right's] commands. */
export function commandsApart(left, right) {
  const name = (command) => JSON.stringify(actionOf(command));
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
