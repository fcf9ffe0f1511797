// @ts-check
// What a table of dead letters is computed from: names, places, columns, and what may be resent.

import { count } from "../../common/format.js";

/** Columns in their order: the text of each head, whether it holds numbers, and where it is left out. */
const COLUMNS = [
  { name: "word.offset", isNumber: true },
  { name: "word.key" },
  { name: "live.dead.col_topic" },
  { name: "word.retries", isNumber: true },
  { name: "live.dead.col_cause" },
  { name: "lab.dead.col_why", needs: "calls" },
  { name: "live.dead.col_dead_at" },
  { name: "word.body" },
  { name: "word.state" },
  { name: "word.action", needs: "resend" },
];

/**
 * The columns of a table; results of calls have one where they are known.
 *
 * @param {Picture.DeadLetter[]} messages
 * @param {boolean} canResend
 */
export function columnsOf(messages, canResend) {
  const has = { calls: messages.some((message) => message.last_result !== null), resend: canResend };
  return COLUMNS.filter(({ needs }) => needs === undefined || has[needs]);
}

/**
 * What a user calls it.
 *
 * @param {Picture.DeadLetter} message
 */
export const nameOf = ({ keys, unique_id: uniqueId, id }) => keys[0] ?? uniqueId ?? id;

/**
 * Its offset. Brokers use queue 0; only a dead letter in another says which.
 *
 * @param {Picture.DeadLetter} message
 */
export const placeOf = ({ queue_id: queueId, queue_offset: offset }) =>
  queueId === 0 ? count(offset) : `Q${queueId} ${count(offset)}`;

/**
 * Dead letters to be resent.
 *
 * @typedef {object} Resend
 * @property {Picture.DeadLetter[] | null} messages null: all of the group that were not resent yet
 * @property {"group" | "topic"} to
 * @property {boolean} anyway also those that were resent before
 */

/**
 * How many were resent before, the original topics, and whether anything remains to be resent.
 *
 * @param {Omit<Resend, "to">} resend
 */
export function resendFacts({ messages, anyway }) {
  const again = messages?.filter((message) => message.resent !== null).length ?? 0;
  const topics = [...new Set((messages ?? []).map((message) => message.topic ?? "–"))];
  return { again, topics, isReady: messages === null || anyway || again < messages.length };
}
