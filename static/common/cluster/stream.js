// @ts-check
// The connection to the server: a snapshot, then numbered patches. A number that is missing means that a patch
// got lost on the way: the page drops what follows and asks for a new snapshot.

import { signal } from "@preact/signals";
import { openConnection } from "../transport.js";
import { applyPatch, PatchRefused } from "../patch.js";

/** How long the banner says "resynced" before it says "live" again. */
const RESYNCED_NOTICE_MS = 4000;
const STARTUP_MS = 15_000;
const REFUSED_RETRY_MS = 5000;

/**
 * Follows /live.
 *
 * @param {(state: any, extra: { history?: any }) => void} onState Called after every snapshot and patch; the history
 *   is given with snapshots only.
 * @param {ReturnType<typeof openConnection>} socket
 * @param {(told: { name: string, leader: string, term: number }) => void} onAbsent The broker is elsewhere, as long as
 *   no state comes.
 * @returns The signals that the connection banner shows, and `resync`.
 */
export function openStream(onState, socket = openConnection("/live"), onAbsent = () => {}) {
  /** @typedef {"connecting" | "live" | "reconnecting" | "resyncing" | "resynced" | "refused"} Status */
  const status = signal(/** @type {Status} */ ("connecting"));
  const sequence = signal(/** @type {number | null} */ (null));
  /** @type {any} */
  let state = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let noticeTimer;

  /** @param {Status} next */
  const settle = (next) => {
    clearTimeout(noticeTimer);
    status.value = next;
    if (next === "resynced") noticeTimer = setTimeout(() => (status.value = "live"), RESYNCED_NOTICE_MS);
  };

  const resync = () => {
    if (status.value === "resyncing") return; // asked already; the answer is under way
    settle("resyncing");
    socket.emit("resync", {});
  };

  // Acknowledged only once it is applied: a browser that lags behind holds the server's stream to it back.
  /** @param {number} number */
  const accept = (number) => {
    sequence.value = number;
    socket.emit("acknowledge", { sequence: number });
  };

  socket.on("snapshot", (message) => {
    const returning = state !== null;
    state = message.state;
    onState(state, { history: message.history });
    accept(message.sequence);
    // A page that is still loading acknowledges late and gets a second snapshot: nothing to tell anybody.
    const isQuiet = !returning || (status.peek() === "live" && performance.now() < STARTUP_MS);
    settle(isQuiet ? "live" : "resynced");
  });

  socket.on("patch", (message) => {
    if (state === null || status.value === "resyncing") return;
    if (message.sequence !== (sequence.value ?? 0) + 1) return resync();
    try {
      state = applyPatch(state, message.operations);
    } catch (error) {
      if (!(error instanceof PatchRefused)) throw error;
      console.warn(error.message);
      return resync();
    }
    onState(state, {});
    accept(message.sequence);
  });

  socket.on("absent", onAbsent);

  // Socket.IO connects again by itself unless the server itself refused; then the page asks again now and then.
  const lost = () => {
    settle(socket.active ? "reconnecting" : "refused");
    if (!socket.active) setTimeout(() => socket.connect(), REFUSED_RETRY_MS);
  };
  socket.on("disconnect", lost);
  socket.on("connect_error", lost);
  socket.on("goodbye", ({ reason }) => console.warn(`the server ended the stream: ${reason}`));

  return { status, sequence, resync, close: () => socket.close() };
}
