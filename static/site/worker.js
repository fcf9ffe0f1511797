// The worker of a page of the site: Python on WebAssembly with the site's application (app/site/worker.py).
//
// From the page: { request, method, address, contentType, bytes }, or { stream, event, message } with events of the
// lab, "connect" and "close" among them. To the page: { request, answer }, { stream, event, message } or
// { progress, problem }.

import { keepSteps, keptSteps } from "./kept_steps.js";

const PYTHON = new URL("../../python/", import.meta.url);
/** Requests that change the learner's progress; the name is that of a lesson that begins again. */
const PROGRESS = /^\/api\/lessons\/(?:progress$|[^/]+\/check$|([^/]+)\/reset$)/;
const SOURCE = /^\/api\/lab\/source\?file=(engine%2F[a-z0-9_%F]+\.py)$/;

const ARCHIVE = "glassmq.tar.zst";
const FORMAT = "glassmq-lessons";

let timer = 0;
// What comes before Python is there waits for it.
const loaded = load();
self.addEventListener("message", ({ data }) => loaded.then((site) => site && take(site, data)));

async function load() {
  try {
    postMessage({ progress: "python" });
    await countBytes();
    const archive = fetch(new URL(ARCHIVE, PYTHON)).then(bytesOf);
    const { loadPyodide } = await import(new URL("pyodide.mjs", PYTHON));
    const python = await loadPyodide({ indexURL: PYTHON.href });
    postMessage({ progress: "modules" });
    python.FS.writeFile("/glassmq.tar.zst", new Uint8Array(await archive));
    postMessage({ progress: "application" });
    python.runPython(`
import os, shutil, sys
shutil.unpack_archive("/glassmq.tar.zst", "/glassmq", "zstdtar")
os.remove("/glassmq.tar.zst")
sys.path.insert(0, "/glassmq")
`);
    const site = python
      .pyimport("app.site.worker")
      .SiteWorker((stream, event, message) => postMessage({ stream, event, message }));
    const steps = await keptSteps();
    if (steps.length > 0)
      ask({ python, site }, "POST", "/api/lessons/progress", JSON.stringify({ format: FORMAT, steps }));
    postMessage({ progress: "ready" });
    return { python, site };
  } catch (error) {
    postMessage({ progress: "failed", problem: error.message.slice(-500) });
    return null;
  }
}

/** Says in megabytes what has been loaded, of what will be: the build has added it up. */
async function countBytes() {
  const plainFetch = self.fetch;
  const versions = new URL("../versions.json", PYTHON);
  const { python_bytes: all } = await (await plainFetch(versions)).json();
  let bytes = 0;
  const count = new Intl.NumberFormat("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 });
  self.fetch = async (...request) => {
    const response = await plainFetch(...request);
    const counted = response.body?.pipeThrough(
      new TransformStream({
        transform(chunk, passed) {
          bytes += chunk.byteLength;
          passed.enqueue(chunk);
          const megabytes = `${count.format(bytes / 1e6)} / ${count.format(all / 1e6)} MB`;
          if (bytes <= all) postMessage({ progress: "python", megabytes });
        },
      }),
    );
    return new Response(counted, response);
  };
}

async function bytesOf(response) {
  if (!response.ok) throw new Error(`${ARCHIVE}: ${response.status}`);
  return response.arrayBuffer();
}

async function take({ python, site }, message) {
  if (message.request) {
    const source = SOURCE.exec(message.address);
    if (source) await addSource(python.FS, decodeURIComponent(source[1]));
    const answer = ask({ python, site }, message.method, message.address, message.bytes, message.contentType);
    postMessage({ request: message.request, answer }, [answer.body]);
    const progress = message.method === "POST" && PROGRESS.exec(message.address);
    if (progress) await keepProgress({ python, site }, progress[1]);
  } else if (message.event === "connect") {
    site.connect(message.stream);
    postMessage({ stream: message.stream, event: "connect", message: "null" });
  } else if (message.event === "close") site.close(message.stream);
  else site.event(message.stream, message.event, message.message);
  work(site);
}

/** Sends a request to the application: { status, headers, body }. */
function ask({ python, site }, method, address, body = "", contentType = "application/json") {
  const bytes = python.toPy(typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body));
  const answer = site.request(method, address, contentType, bytes);
  const [status, headers, content] = answer.toJs();
  answer.destroy();
  bytes.destroy();
  return { status, headers, body: content.slice().buffer };
}

async function keepProgress(application, reset) {
  const { body } = ask(application, "GET", "/api/lessons/progress");
  const { steps } = JSON.parse(new TextDecoder().decode(body));
  await keepSteps(steps, reset);
}

/** Lets the lab work, and again when it wants to; messages from the page come in between. */
function work(site) {
  clearTimeout(timer);
  timer = setTimeout(work, 1000 * site.work(), site);
}

/** Sources are not in the archive: the source view reads them one by one. */
async function addSource(files, path) {
  const response = await fetch(new URL(`sources/${path}`, PYTHON));
  if (response.ok) files.writeFile(`/glassmq/${path}`, new Uint8Array(await response.arrayBuffer()));
}
