// @ts-check
// What the question about a half message is computed from: the newest state of the message, and what can be done to it.

/** @typedef {import("./half_messages.js").AnyHalf} AnyHalf */
/** @typedef {"commit" | "rollback" | "resume"} HalfAction */

/** @param {AnyHalf} message */
export const halfName = (message) => message.key || message.id;

/**
 * The actions that suit it.
 *
 * @param {AnyHalf} message
 * @returns {HalfAction[]}
 */
export const actionsOf = (message) => ("given_up_us" in message ? ["resume"] : ["commit", "rollback"]);

/**
 * The newest state of the message `opened`: a check or an END_TRANSACTION may have come since.
 *
 * @param {Pick<Picture.Transactions, "messages" | "given_up"> | undefined} part
 * @param {AnyHalf} opened
 * @returns {AnyHalf}
 */
export function currentOf(part, opened) {
  /** @param {AnyHalf[]} [rows] */
  const newest = (rows) => rows?.findLast((row) => row.id === opened.id);
  return newest(part?.messages) ?? newest(part?.given_up) ?? opened;
}
