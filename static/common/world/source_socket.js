// @ts-check
// A world on the server: snapshot, numbered patches and journal come in; controls and commands go out.
//
// A missing number means that a patch got lost: the page drops what follows and asks for a new snapshot.

import { openConnection } from "../transport.js";
import { demand } from "../request.js";
import { applyPatch, PatchRefused } from "../patch.js";
import { bilingual } from "./format.js";
import { foundRun, mine, receiveJournal, receiveView, sequence, status, tell } from "./view.js";

const REFUSED_RETRY_MS = 5000;

/**
 * Opens a world.
 *
 * @param {() => object} request What describes it; asked again after every reconnect.
 * @param {(refusal: any) => void} onRefused Called, besides telling the person, when the server refuses something.
 */
export function openSocket(request, onRefused = () => {}) {
  const socket = openConnection("/lab");
  let tree = null;
  let world = "";

  const accept = (number) => {
    sequence.value = number;
    socket.emit("acknowledge", { sequence: number });
  };
  const resync = () => {
    tree = null;
    socket.emit("resync", {});
  };

  const open = () => socket.emit("open", request());
  socket.on("found", (run) => (foundRun.value = run));
  socket.on("connect", open);
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
    if (message.sequence !== (sequence.peek() ?? 0) + 1) return resync();
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
  socket.on("refused", (refusal) => {
    tell(bilingual(refusal.text ?? refusal), true);
    onRefused(refusal);
  });

  const lost = () => {
    status.value = socket.active ? "reconnecting" : "refused";
    if (!socket.active) setTimeout(() => socket.connect(), REFUSED_RETRY_MS);
  };
  socket.on("disconnect", lost);
  socket.on("connect_error", lost);
  socket.on("goodbye", ({ reason }) => console.warn(`the server ended the stream: ${reason}`));

  const fetched = (path) => demand("GET", path);
  const posted = (path, body) => demand("POST", `${worldPath()}/${path}`, body);
  const worldPath = () => `/api/lab/${encodeURIComponent(world)}`;
  return {
    isRecording: false,
    /** Asks for the world once more, after the server refused it. */
    open,
    /** Joins the run that was found, or begins another one. */
    openFound(isFresh) {
      foundRun.value = null;
      socket.emit("open", { ...request(), asks: false, fresh: isFresh });
    },
    openLink: (link) => socket.emit("open", { link, fresh: true }),
    control: (action, values = {}) => socket.emit("control", { action, ...values }),
    command: (kind, target, values = {}) => socket.emit("command", { kind, target, ...values }),
    frame: (id) => fetched(`${worldPath()}/frames/${encodeURIComponent(id)}`),
    entries: (after, count) => fetched(`${worldPath()}/journal?${new URLSearchParams({ after, count })}`),
    search: (wanted) => fetched(`${worldPath()}/journal?${new URLSearchParams(wanted)}`),
    lives: (contains) =>
      fetched(`${worldPath()}/lives?${new URLSearchParams({ contains })}`).then(({ messages }) => messages),
    why: (key) => fetched(`${worldPath()}/why?${new URLSearchParams({ key })}`),
    window: (leftUs, rightUs) =>
      fetched(`${worldPath()}/window?${new URLSearchParams({ left_us: leftUs, right_us: rightUs })}`),
    record: (broker, { offset }) => fetched(`${worldPath()}/records/${encodeURIComponent(broker)}/${offset}`),
    message: (broker, { topic, queue_id: queueId, queue_offset: offset }) =>
      fetched(`${worldPath()}/records/${[broker, topic, queueId, offset].map(encodeURIComponent).join("/")}`),
    sourceFile: (file) => fetched(`/api/lab/source?file=${encodeURIComponent(file)}`),
    auditPlan: () => fetched(`${worldPath()}/audit`),
    startAudit: (event) => posted("audit", { event }),
    variant: (change) => posted("variant", { change }),
    exportAddress: (format) => `${worldPath()}/export.${format}`,
  };
}
