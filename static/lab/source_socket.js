// A world on the server: snapshot, numbered patches and journal come in; controls and commands go out.
//
// A missing number means that a patch got lost: the page drops what follows and asks for a new snapshot.

import { io } from "socket.io-client";
import { t } from "../common/i18n.js";
import { applyPatch, PatchRefused } from "../live/patch.js";
import { bilingual } from "./format.js";
import { mine, receiveJournal, receiveView, sequence, status, tell } from "./view.js";

const TRANSPORT = { transports: ["websocket", "polling"], tryAllTransports: true };
const REFUSED_RETRY_MS = 5000;

/** Opens the world that `request()` describes; it is asked again after every reconnect. */
export function openSocket(request) {
  const socket = io("/lab", TRANSPORT);
  let tree = null;
  let world = null;

  const accept = (number) => {
    sequence.value = number;
    socket.emit("acknowledge", { sequence: number });
  };
  const resync = () => {
    tree = null;
    socket.emit("resync", {});
  };

  socket.on("connect", () => socket.emit("open", request()));
  socket.on("snapshot", (message) => {
    tree = message.view;
    world = message.world;
    mine.value = message.mine ?? true;
    receiveView(tree, true);
    accept(message.sequence);
    status.value = "live";
  });
  socket.on("patch", (message) => {
    if (tree === null) return;
    if (message.sequence !== sequence.peek() + 1) return resync();
    try {
      tree = applyPatch(tree, message.operations);
    } catch (error) {
      if (!(error instanceof PatchRefused)) throw error;
      console.warn(error.message);
      return resync();
    }
    receiveView(tree, false);
    accept(message.sequence);
  });
  socket.on("journal", receiveJournal);
  socket.on("refused", ({ text }) => tell(bilingual(text), true));

  const lost = () => {
    status.value = socket.active ? "reconnecting" : "refused";
    if (!socket.active) setTimeout(() => socket.connect(), REFUSED_RETRY_MS);
  };
  socket.on("disconnect", lost);
  socket.on("connect_error", lost);
  socket.on("goodbye", ({ reason }) => console.warn(`the server ended the stream: ${reason}`));

  const fetched = async (path) => {
    const response = await fetch(path);
    const answer = await response.json();
    if (!response.ok) throw new Error(bilingual(answer.text ?? answer.error) || t("lab.no_answer"));
    return answer;
  };
  return {
    isRecording: false,
    control: (action, values = {}) => socket.emit("control", { action, ...values }),
    command: (kind, target, values = {}) => socket.emit("command", { kind, target, ...values }),
    frame: (id) => fetched(`/api/lab/${encodeURIComponent(world)}/frames/${encodeURIComponent(id)}`),
    sourceFile: (file) => fetched(`/api/lab/source?file=${encodeURIComponent(file)}`),
    exportAddress: (format) => `/api/lab/${encodeURIComponent(world)}/export.${format}`,
  };
}
