// @ts-check
// The sources of a lab world, for the parts that the live page draws too.

import { isPointed, pointing } from "../../common/viewer/pointed.js";
import { accused, compare, nodes, openRecord, view } from "../../common/world/view.js";
import { acting, offer } from "../actions/thing.js";

const isOff = (node, name) => view.value.nodes[node]?.switched_off?.includes(name) ?? false;

/** @type {import("./queue/locks.js").Source} */
export const worldSource = {
  ask: ({ broker }, holder) => ({
    isLockOff: isOff(broker, "broker-lock"),
    isFlagOff: isOff(holder, "consuming-flag"),
  }),
  act: acting,
  isAccused: (name) => accused.value.has(name),
  open: ({ broker, topic, queue_id: queueId }, node, { offset, key }, { currentTarget }) =>
    offer({ kind: "held", node, broker, topic, queueId, offset, key }, currentTarget),
};

/**
 * The lanes of a broker: a message is marked wherever the page shows it.
 *
 * @param {string} broker
 * @returns {Picture.LaneSource}
 */
export const worldLanes = (broker) => ({
  order: compare,
  markOf({ topic, queueId, entry, isRead }) {
    if (!entry) return accused.value.has(`${topic}@${queueId}`) ? "is-accused" : "";
    return `${isPointed(entry.key) ? "is-pointed" : ""} ${!isRead && accused.value.has(entry.key) ? "is-accused" : ""}`;
  },
  pointing: ({ entry }) => (entry ? pointing(entry.key || null) : {}),
  open({ topic, queueId, entry }) {
    const records = nodes.peek()[broker]?.commit_log?.records ?? [];
    const record = records.find(({ offset }) => offset === entry?.offset);
    openRecord.value = { broker, record: record ?? { ...entry, topic, queue_id: Number(queueId) } };
  },
});
