// @ts-check
// A tree of the server's, kept up to date over a connection: a snapshot, then numbered patches.
//
// A missing number means that a patch got lost: what follows is dropped, and a new snapshot is asked for.

import { applyPatch, PatchRefused } from "../patch.js";

const REFUSED_RETRY_MS = 5000;

/**
 * Follows the tree, and reports the state of the connection as "resyncing", "reconnecting" or "refused".
 *
 * @param {any} socket A Socket.IO connection; a test passes a stand-in.
 * @param {object} parts
 * @param {import("@preact/signals").Signal<number | null>} parts.sequence The number of the last message.
 * @param {string} parts.name What the tree is called in a snapshot.
 * @param {(tree: any, snapshot?: any) => void} parts.receive `snapshot`: the message, unless it was a patch.
 * @param {() => void} [parts.onSnapshot] Called when a snapshot has been received.
 * @param {(status: "resyncing" | "reconnecting" | "refused") => void} parts.settle
 */
export function followTree(socket, { sequence, name, receive, onSnapshot = () => {}, settle }) {
  /** @type {any} */
  let tree = null;
  let isAsked = false;

  // Acknowledged only once it is applied: a browser that lags behind holds the server's stream to it back.
  /** @param {number} number */
  const accept = (number) => {
    sequence.value = number;
    socket.emit("acknowledge", { sequence: number });
  };
  const resync = () => {
    if (isAsked) return; // the answer is under way
    isAsked = true;
    settle("resyncing");
    socket.emit("resync", {});
  };
  const lost = () => {
    isAsked = false;
    settle(socket.active ? "reconnecting" : "refused");
    if (!socket.active) setTimeout(() => socket.connect(), REFUSED_RETRY_MS);
  };

  socket.on("snapshot", (/** @type {any} */ message) => {
    isAsked = false;
    tree = message[name];
    receive(tree, message);
    accept(message.sequence);
    onSnapshot();
  });
  socket.on("patch", (/** @type {any} */ message) => {
    if (tree === null || isAsked) return;
    if (message.sequence !== (sequence.peek() ?? 0) + 1) return resync();
    try {
      tree = applyPatch(tree, message.operations);
    } catch (error) {
      if (!(error instanceof PatchRefused)) throw error;
      console.warn(error.message);
      return resync();
    }
    receive(tree);
    accept(message.sequence);
  });
  socket.on("disconnect", lost);
  socket.on("connect_error", lost);
  socket.on("goodbye", (/** @type {{ reason: string }} */ { reason }) =>
    console.warn(`the server ended the stream: ${reason}`),
  );
}
