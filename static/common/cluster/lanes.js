// @ts-check
// The source of the live broker's lanes, and of their axis.

import { laneScale, showSystemTopics } from "../viewer/choices.js";
import { askToReset } from "./asked.js";
import { byGroup } from "./lists.js";
import { highlighted, inspectedQueue } from "./selection.js";
import { state } from "./view.js";

/** @type {Required<Picture.LaneSource>} */
export const brokerLanes = {
  order: byGroup,
  markOf({ topic, queueId }) {
    const at = highlighted.value;
    return at?.topic === topic && (at.queueId === undefined || at.queueId === queueId) ? "is-marked" : "";
  },
  pointing: ({ topic, queueId }) => ({
    onPointerEnter: () => (highlighted.value = { topic, queueId: queueId ?? undefined }),
    onPointerLeave: () => (highlighted.value = null),
  }),
  open: ({ topic, queueId }) => (inspectedQueue.value = queueId ? { topic, queueId } : null),
  jobOf: (run) => state.peek().spark?.jobs?.[run] ?? run,
  outlook: (group, topic) => state.value.backlogs[group]?.[topic],
  reset: askToReset,
};

/** @type {Picture.AxisSource} */
export const brokerAxis = {
  topics: () =>
    Object.values(state.value.topics).filter(({ kind }) => kind !== "system" || showSystemTopics.value === "yes"),
  jobs: () => Object.keys(state.value.spark?.jobs ?? {}).length,
  scale: () => laneScale.value,
};
