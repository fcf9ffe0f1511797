// @ts-check
// The site's way to its application: see static/common/transport.js. A worker of this page runs it, in Python, and
// starts with the first request or stream.

import { targetOf } from "../common/elements.js";
import { language, t } from "../common/i18n.js";
import { say } from "./foot_line.js";
import { loadAgain, openAgain } from "./offline.js";

const ROOT = new URL("../../", import.meta.url);
/** Answers that are files of the site. @type {Record<string, string>} */
const FILES = { "/api/demonstration": "demonstration.json", "/api/storage/scenarios": "storage_scenarios.json" };

/** @type {Pick<Worker, "postMessage" | "terminate"> | null} */
let worker = null;
/** Why the worker answers no more. */
let failure = "";
let requests = 0;
/** @typedef {{ status: number, headers: string, body: ArrayBuffer }} Answer */
/** @type {Map<number, { resolve: (answer: Answer) => void, reject: (reason: unknown) => void }>} */
const waiting = new Map();
/** @type {Map<string, Stream>} */
const streams = new Map();

/**
 * @param {object} message
 * @param {Transferable[]} transfer
 */
function toWorker(message, transfer = []) {
  worker ??= startWorker();
  worker.postMessage(message, transfer);
}

function startWorker() {
  if (!globalThis.Worker || !globalThis.WebAssembly) {
    fail(t("site.no_webassembly"));
    return { postMessage() {}, terminate() {} };
  }
  document.documentElement.dataset.worker = "starts";
  const started = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  started.addEventListener("message", ({ data }) => {
    if (data.answer) waiting.get(data.request)?.resolve(data.answer);
    else if (data.stream) streams.get(data.stream)?.receive(data.event, JSON.parse(data.message));
    else if (data.problem) fail(data.problem);
    else showProgress(data.progress, data.megabytes);
  });
  started.addEventListener("error", ({ message }) => fail(message || t("site.no_modules")));
  // Browsers keep pages that are left, for the way back, with the memory of each. Chromium keeps none that listens to
  // this event; others keep them, but without Python. The address leads to the same moment again.
  addEventListener("unload", () => {});
  addEventListener("pagehide", ({ persisted }) => persisted && started.terminate());
  addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
  return started;
}

/**
 * Says what went wrong and what helps. Nothing waits any longer for a worker that did not start, or has ended.
 *
 * @param {string} problem
 */
function fail(problem) {
  if (failure) return;
  const page = document.documentElement.dataset;
  const hasStarted = page.worker === "ready";
  failure = problem;
  worker?.terminate();
  page.worker = "failed";
  if (hasStarted) say(t("site.ended", { problem }), "alert", { label: t("site.open_again"), act: openAgain });
  else say(t("site.failed", { problem }), "alert", { label: t("site.again"), act: loadAgain });
  for (const { reject } of waiting.values()) reject(new Error(problem));
  for (const stream of streams.values()) stream.end();
}

/**
 * Sends a request to an address of the application; resolves to a Response as `fetch` does.
 *
 * @param {string} address It starts with "/".
 * @param {{ method?: string, headers?: Record<string, string>, body?: BodyInit | null, signal?: AbortSignal }} options
 */
export async function sendRequest(address, { method = "GET", headers = {}, body, signal } = {}) {
  const path = address.replace(/[?#].*$/s, "");
  if (path in FILES) return fetch(new URL(FILES[path], ROOT), { signal });
  if (path.startsWith("/static/")) return fetch(new URL(address.slice(1), ROOT), { signal });
  signal?.throwIfAborted();
  const bytes = await new Response(body).arrayBuffer();
  if (failure) throw new Error(failure);
  const request = ++requests;
  const contentType = headers["Content-Type"] ?? "";
  /** @type {Promise<Answer>} */
  const answered = new Promise((resolve, reject) => {
    waiting.set(request, { resolve, reject });
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
  toWorker({ request, method, address, contentType, bytes }, [bytes]);
  try {
    const answer = await answered;
    const hasBody = ![204, 205, 304].includes(answer.status);
    return new Response(hasBody ? answer.body : null, { status: answer.status, headers: JSON.parse(answer.headers) });
  } finally {
    waiting.delete(request);
  }
}

/** A stream of events to and from the lab; that of a broker never connects. */
class Stream {
  active = true;
  #id = `stream ${++requests}`;
  /** @type {Map<string, ((message: any) => void)[]>} */
  #listeners = new Map();

  /** @param {string} namespace */
  constructor(namespace) {
    if (namespace !== "/lab") return;
    streams.set(this.#id, this);
    this.connect();
  }

  /** @param {string} event @param {(message: any) => void} listener */
  on(event, listener) {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
  }

  /** @param {string} event @param {unknown} message */
  emit(event, message) {
    if (streams.has(this.#id)) toWorker({ stream: this.#id, event, message: JSON.stringify(message) });
  }

  connect() {
    this.active = true;
    toWorker({ stream: this.#id, event: "connect" });
  }

  /** As Socket.IO where the server ends the stream: only the page may connect it again. */
  end() {
    this.active = false;
    this.receive("disconnect", "io server disconnect");
  }

  close() {
    if (streams.delete(this.#id)) toWorker({ stream: this.#id, event: "close" });
  }

  /** @param {string} event @param {unknown} message */
  receive(event, message) {
    for (const listener of this.#listeners.get(event) ?? []) listener(message);
    if (event === "goodbye") this.end();
  }
}

export const hasFollowers = false;

/** @param {string} namespace */
export const openConnection = (namespace) => new Stream(namespace);

/** A link to a file that the application makes, as an export of a run. */
addEventListener("click", async (event) => {
  const address = targetOf(event)?.closest("a[href^='/api/']")?.getAttribute("href");
  if (!address) return undefined;
  event.preventDefault();
  const answer = await sendRequest(address).catch(() => null);
  if (!answer) return undefined; // the foot of the page says why
  if (!answer.ok) return say((await answer.json()).text?.[language] ?? answer.status, "alert");
  const save = document.createElement("a");
  save.href = URL.createObjectURL(await answer.blob());
  save.download = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? "";
  save.click();
  setTimeout(() => URL.revokeObjectURL(save.href), 60_000);
  return undefined;
});

// ------------------------------------------------------------------------------------------------ progress

/**
 * Says at the foot of the page what loads, until it is there.
 *
 * @param {string} step
 */
function showProgress(step, megabytes = "") {
  document.documentElement.dataset.worker = step;
  say(step === "ready" ? "" : `${t(`site.${step}`)} ${megabytes}`);
}
