// @ts-check
// The connection to the server, and what the page says of its state.

import { signal } from "@preact/signals";
import { openConnection } from "../transport.js";
import { followTree } from "../server/followed_tree.js";

/** How long the banner says "resynced" before it says "live" again. */
const RESYNCED_NOTICE_MS = 4000;
const STARTUP_MS = 15_000;

/**
 * Follows /live.
 *
 * @param {(state: any, extra: { history?: any }) => void} onState Called after every snapshot and patch; the history
 *   is given with snapshots only.
 * @param {ReturnType<typeof openConnection>} socket
 * @param {(told: Picture.AbsentBroker) => void} onAbsent The broker is elsewhere, as long as
 *   no state comes.
 * @returns The signals that the connection banner shows.
 */
export function openStream(onState, socket = openConnection("/live"), onAbsent = () => {}) {
  /** @typedef {"connecting" | "live" | "reconnecting" | "resyncing" | "resynced" | "refused"} Status */
  const status = signal(/** @type {Status} */ ("connecting"));
  const sequence = signal(/** @type {number | null} */ (null));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let noticeTimer;

  /** @param {Status} next */
  const settle = (next) => {
    clearTimeout(noticeTimer);
    status.value = next;
    if (next === "resynced") noticeTimer = setTimeout(() => (status.value = "live"), RESYNCED_NOTICE_MS);
  };

  let isFirst = true;
  followTree(socket, {
    sequence,
    name: "state",
    receive: (state, snapshot) => onState(state, snapshot ? { history: snapshot.history } : {}),
    onSnapshot() {
      // A page that is still loading acknowledges late and gets a second snapshot: nothing to tell anybody.
      const isQuiet = isFirst || (status.peek() === "live" && performance.now() < STARTUP_MS);
      isFirst = false;
      settle(isQuiet ? "live" : "resynced");
    },
    settle,
  });
  socket.on("absent", onAbsent);

  // Socket.IO connects again by itself unless the server itself refused; then the page asks again now and then.

  return { status, sequence };
}
