// @ts-check
// A stage next to another one: it reports to the page around it what it shows, and what a user requests;
// that page moves the time of both, and does in both what is done in one.

import { effect } from "@preact/signals";
import { listenToKeys } from "./keys.js";
import { run } from "../../common/world/session.js";
import { status, view } from "../../common/world/view.js";
import { showMarks } from "./marks.js";

export const isCompared = parent !== window && new URLSearchParams(location.search).get("embed") === "pair";

/** @typedef {import("../../common/world/session.js").Run} Run */

/** The maximum number of events that are searched to find the moment before. */
const BACK_EVENTS = 400;

/** The first time a world of its own, made of the link; after a lost connection that very world again.
    @param {object} request */
export const ownWorldOf = (request) => {
  const { id } = view.peek().world;
  return id ? { world: id } : { ...request, fresh: true };
};

/** `source`, for a stage that does nothing by itself.
    @param {Run} source */
export function paired(source) {
  /** @param {object} message */
  const tell = (message) => parent.postMessage(message, location.origin);
  /** @type {Record<string, (message: any) => unknown>} */
  const answers = {
    control: ({ action, values }) => source.control(action, values),
    command: ({ command: [kind, target, values] }) => source.command(kind, target, values),
    marks: ({ marks }) => showMarks(marks),
    earlier: async () => tell({ kind: "earlier", time: await earlierTime() }),
  };
  addEventListener("message", ({ origin, source: from, data }) => {
    if (origin === location.origin && from === parent) answers[data?.kind]?.(data);
  });
  effect(() => {
    if (status.value === "live") tell({ kind: "view", view: { ...view.value, about: null, timers: [] } });
  });
  listenToKeys((action) => tell({ kind: "key", action }));
  return {
    ...source,
    control() {},
    /** @type {Run["command"]} */
    command: (kind, target, values = {}) => tell({ kind: "command", command: [kind, target, values] }),
  };
}

/** The virtual time of the last event before the moment that is shown. */
async function earlierTime() {
  const { event, time_us: now } = view.peek();
  const { entries } = await run.entries(Math.max(0, event - BACK_EVENTS), BACK_EVENTS);
  return entries.findLast((/** @type {number[]} */ [, time]) => time < now)?.[1] ?? 0;
}
