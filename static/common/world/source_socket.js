// @ts-check
// A world on the server: snapshot, numbered patches and journal come in; controls and commands go out.

import { openConnection } from "../transport.js";
import { demand } from "../request.js";
import { followTree } from "../server/followed_tree.js";
import { bilingual } from "./format.js";
import { foundRun, mine, receiveJournal, receiveView, sequence, status, tell } from "./view.js";

/**
 * Opens a world.
 *
 * @param {() => object} request What describes it; asked again after every reconnect.
 * @param {(refusal: any) => void} onRefused Called, besides telling the person, when the server refuses something.
 * @returns {import("./session.js").Run & { open: () => void }}
 */
export function openSocket(request, onRefused = () => {}) {
  const socket = openConnection("/lab");
  let world = "";

  const open = () => socket.emit("open", request());
  socket.on("found", (run) => (foundRun.value = run));
  socket.on("connect", open);
  followTree(socket, {
    sequence,
    name: "view",
    receive(view, snapshot) {
      if (snapshot) {
        world = snapshot.world;
        mine.value = snapshot.mine ?? true;
      }
      receiveView(view, Boolean(snapshot));
    },
    onSnapshot: () => (status.value = "live"),
    settle(next) {
      if (next !== "resyncing") status.value = next;
    },
  });
  socket.on("journal", receiveJournal);
  socket.on("refused", (refusal) => {
    tell(bilingual(refusal.text), true);
    onRefused(refusal);
  });

  /** @param {string} path */
  const fetched = (path) => demand("GET", path);
  /** @param {string} path @param {object} body */
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
    entries: (after, count) =>
      fetched(`${worldPath()}/journal?${new URLSearchParams({ after: String(after), count: String(count) })}`),
    search: (wanted) => fetched(`${worldPath()}/journal?${new URLSearchParams(/** @type {any} */ (wanted))}`),
    lives: (contains) =>
      fetched(`${worldPath()}/lives?${new URLSearchParams({ contains })}`).then(({ messages }) => messages),
    why: (key) => fetched(`${worldPath()}/why?${new URLSearchParams({ key })}`),
    window: (leftUs, rightUs) =>
      fetched(`${worldPath()}/window?${new URLSearchParams({ left_us: String(leftUs), right_us: String(rightUs) })}`),
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
