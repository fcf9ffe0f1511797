// @ts-check
// The source of a lab world, for the parts that the live page draws too.

import { view } from "../../common/world/view.js";
import { acting, offer } from "../actions/thing.js";

const isOff = (node, name) => view.value.nodes[node]?.switched_off?.includes(name) ?? false;

/** @type {import("./queue/locks.js").Source} */
export const worldSource = {
  ask: ({ broker }, holder) => ({
    isLockOff: isOff(broker, "broker-lock"),
    isFlagOff: isOff(holder, "consuming-flag"),
  }),
  act: acting,
  open: ({ broker, topic, queue_id: queueId }, node, { offset, key }, { currentTarget }) =>
    offer({ kind: "held", node, broker, topic, queueId, offset, key }, currentTarget),
};
