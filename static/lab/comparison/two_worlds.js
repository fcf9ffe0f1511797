// @ts-check
// The two stages and the way to them: each is a page of the lab in a frame, which posts its view and gets its orders.

import { computed, signal } from "@preact/signals";
import { differences } from "../../common/world/compare.js";

/** @typedef {[left: Picture.ShownWorld, right: Picture.ShownWorld]} Both */

const viewOf = () => signal(/** @type {Picture.ShownWorld | null} */ (null));
/** The view of each side, or null while it is not there yet. */
export const views = [viewOf(), viewOf()];
export const both = computed(() => {
  const [left, right] = views.map((one) => one.value);
  return left && right ? /** @type {Both} */ ([left, right]) : null;
});
/** Whether what a user does on one stage is done on both. */
export const inBoth = signal(true);

/** @type {(Window | null)[]} */
const windows = [null, null];
/** @type {{ key?: (action: string) => void, command?: () => void }} */
const listeners = {};
/** @type {(((time: number) => void) | null)[]} */
const waiting = [null, null];

/** @param {(action: string) => void} listen Called when a key is pressed on a stage. */
export const onKey = (listen) => (listeners.key = listen);
/** @param {() => void} listen */
export const onCommand = (listen) => (listeners.command = listen);

/**
 * @param {number} side
 * @param {HTMLIFrameElement | null} frame
 */
export function frameOf(side, frame) {
  windows[side] = frame?.contentWindow ?? null;
}

/** @param {number} side @param {object} message */
export const send = (side, message) => windows[side]?.postMessage(message, location.origin);
/** @param {object} message */
export const sendBoth = (message) => windows.forEach((_, side) => send(side, message));

/** The time of the last event before the moment shown, the later one of both sides. */
export async function earlierTime() {
  const times = await Promise.all(
    windows.map(
      (_, side) =>
        /** @type {Promise<number>} */
        (
          new Promise((resolve) => {
            waiting[side] = resolve;
            send(side, { kind: "earlier" });
          })
        ),
    ),
  );
  return Math.max(...times);
}

addEventListener("message", ({ origin, source, data }) => {
  const side = windows.findIndex((one) => one && one === source);
  if (origin !== location.origin || side < 0) return;
  if (data.kind === "view") views[side].value = data.view;
  else if (data.kind === "earlier") waiting[side]?.(data.time);
  else if (data.kind === "key") listeners.key?.(data.action);
  else if (data.kind === "command") {
    if (inBoth.peek()) sendBoth(data);
    else send(side, data);
    listeners.command?.();
  }
});

/** What differs at this moment; what was found last while the two are not at the same time. */
export const apart = computed(() => {
  const shown = both.value;
  if (!shown || shown[0].time_us !== shown[1].time_us) return lastApart;
  return (lastApart = differences(shown[0].nodes, shown[1].nodes));
});
let lastApart = {};

apart.subscribe((found) =>
  sendBoth({
    kind: "marks",
    marks: Object.fromEntries(Object.entries(found).map(([name, { queues }]) => [name, queues])),
  }),
);
