// @ts-check
// The worker of a page of the site: Python on WebAssembly with the site's application (app/site/worker.py).
//
// From the page: { request, method, address, contentType, bytes }, or { stream, event, message } with events of the
// lab, "connect" and "close" among them. To the page: { request, answer }, { stream, event, message },
// { progress, megabytes }, or { problem }, after which it answers no more.

import { keepSteps, keptSteps } from "./kept_steps.js";
import { freeModules, loadPython, PYTHON } from "./python.js";

/** Requests that change the learner's progress; the name is that of a lesson that begins again. */
const PROGRESS = /^\/api\/lessons\/(?:progress$|[^/]+\/check$|([^/]+)\/reset$)/;
const SOURCE = /^\/api\/lab\/source\?file=(engine%2F[a-z0-9_%F]+\.py)$/;

const FORMAT = "glassmq-lessons";

/**
 * What Python asks for a search: a worker of its own, and its end.
 *
 * @type {Record<string, (id: string, order: string) => void>}
 */
const SEARCHES = { search: beginSearch, "end-search": (id) => searches.get(id)?.terminate() };

/**
 * The workers of searches, by the search's id.
 *
 * @type {Map<string, Worker>}
 */
const searches = new Map();
/** The done steps that were stored, as JSON. */
const known = new Set();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
// What comes before Python is there waits for it.
const loaded = load();
addEventListener("message", ({ data }) => loaded.then((site) => site && take(site, data)).catch(fail));

/** @typedef {{ python: any, site: any }} Application Pyodide's own object, and SiteWorker of app/site/worker.py. */

/** @returns {Promise<Application | null>} */
async function load() {
  try {
    const python = await loadPython(postMessage);
    const site = python
      .pyimport("app.site.worker")
      .SiteWorker((/** @type {string} */ to, /** @type {string} */ event, /** @type {string} */ message) =>
        event in SEARCHES ? SEARCHES[event](to, message) : postMessage({ stream: to, event, message }),
      );
    const steps = await keptSteps();
    if (steps.length > 0)
      ask({ python, site }, "POST", "/api/lessons/progress", JSON.stringify({ format: FORMAT, steps }));
    note(newSteps({ python, site }));
    postMessage({ progress: "ready" });
    freeModules(python);
    return { python, site };
  } catch (error) {
    fail(error);
    return null;
  }
}

/**
 * Says that Python did not start, or ended: WebAssembly that has run out of memory or stack answers nothing more.
 *
 * @param {unknown} error
 */
function fail(error) {
  clearTimeout(timer);
  console.warn(error);
  // Of Python's traceback the last line says what went wrong.
  postMessage({ problem: String(error).trim().split("\n").at(-1)?.slice(0, 300) });
}

/**
 * @param {Application} application
 * @param {any} message
 */
async function take({ python, site }, message) {
  if (message.request) {
    const source = SOURCE.exec(message.address);
    if (source) await addSource(python.FS, decodeURIComponent(source[1]));
    const answer = ask({ python, site }, message.method, message.address, message.bytes, message.contentType);
    const progress = message.method === "POST" && PROGRESS.exec(message.address);
    // Before the answer: a page that shows a step as done may be left at once, which ends this worker.
    if (progress) await keepProgress({ python, site }, progress[1]);
    postMessage({ request: message.request, answer }, [answer.body]);
  } else if (message.event === "connect") {
    site.connect(message.stream);
    postMessage({ stream: message.stream, event: "connect", message: "null" });
  } else if (message.event === "close") site.close(message.stream);
  else site.event(message.stream, message.event, message.message);
  work(site);
}

/**
 * Sends a request to the application.
 *
 * @param {Application} application
 * @param {string} method
 * @param {string} address
 * @param {string | ArrayBuffer} body
 * @param {string} contentType
 */
function ask({ python, site }, method, address, body = "", contentType = "application/json") {
  const bytes = python.toPy(typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body));
  const answer = site.request(method, address, contentType, bytes);
  const [status, headers, content] = answer.toJs();
  answer.destroy();
  bytes.destroy();
  return { status, headers, body: content.slice().buffer };
}

/**
 * Starts the worker of a search, and passes on what it reports.
 *
 * @param {string} id
 * @param {string} order
 */
function beginSearch(id, order) {
  const search = new Worker(new URL("search_worker.js", import.meta.url), { type: "module" });
  searches.set(id, search);
  /** @param {string} state As JSON. */
  const report = async (state) => (await loaded)?.site.search_reported(id, state);
  search.addEventListener("message", ({ data }) => report(data));
  search.addEventListener("error", () => report(JSON.stringify({ phase: "failed" })));
  search.postMessage(order);
}

/**
 * @param {Application} application
 * @param {string} [reset] The name of a lesson that begins again.
 */
async function keepProgress(application, reset) {
  const steps = newSteps(application);
  if (await keepSteps(steps, reset)) note(steps);
}

/**
 * The done steps that are not stored yet: those that are may have been forgotten in another tab since.
 *
 * @param {Application} application
 */
function newSteps(application) {
  const { body } = ask(application, "GET", "/api/lessons/progress");
  /** @type {import("./kept_steps.js").KeptStep[]} */
  const steps = JSON.parse(new TextDecoder().decode(body)).steps;
  return steps.filter((step) => !known.has(JSON.stringify(step)));
}

/** @param {import("./kept_steps.js").KeptStep[]} steps */
function note(steps) {
  for (const step of steps) known.add(JSON.stringify(step));
}

/**
 * Lets the lab work, and again when it wants to; messages from the page come in between.
 *
 * @param {any} site
 */
function work(site) {
  clearTimeout(timer);
  try {
    timer = setTimeout(work, 1000 * site.work(), site);
  } catch (error) {
    fail(error);
  }
}

/**
 * Sources are not in the archive: the source view reads them one by one.
 *
 * @param {any} files Pyodide's file system.
 * @param {string} path
 */
async function addSource(files, path) {
  const response = await fetch(new URL(`sources/${path}`, PYTHON)).catch(() => null); // Python says what is missing
  if (response?.ok) files.writeFile(`/glassmq/${path}`, new Uint8Array(await response.arrayBuffer()));
}
