// @ts-check
// Python on WebAssembly with the modules of GlassMQ, in a worker: that of a page, or that of a search.

export const PYTHON = new URL("../../python/", import.meta.url);

const ARCHIVE = "glassmq.zst";

const plainFetch = globalThis.fetch;

/** @typedef {{ progress: string, megabytes?: string }} Progress */

/**
 * Loads Python and the modules.
 *
 * @param {(progress: Progress) => void} tell Takes each step.
 * @returns {Promise<any>} Pyodide's own object: https://pyodide.org
 */
export async function loadPython(tell) {
  tell({ progress: "python" });
  // The host confirms both, so that they belong together where no service worker keeps a copy of one version.
  const versions = await (await fetch(new URL("../versions.json", PYTHON), { cache: "no-cache" })).json();
  const runtime = new URL(`${versions.pyodide}/`, PYTHON);
  self.fetch = countedFetch(versions.python_bytes, tell);
  const archive = fetch(new URL(ARCHIVE, PYTHON), { cache: "no-cache" }).then(bytesOf);
  const { loadPyodide } = await import(new URL("pyodide.mjs", runtime).href);
  const python = await Promise.race([failureOfWebAssembly(), loadPyodide({ indexURL: runtime.href })]);
  tell({ progress: "modules" });
  const packed = await archive;
  tell({ progress: "application" });
  addModules(python, packed);
  return python;
}

/**
 * Rejects where the browser cannot use the WebAssembly: Pyodide would only log it, and wait forever.
 *
 * @returns {Promise<never>}
 */
function failureOfWebAssembly() {
  return new Promise((_, reject) => {
    const { instantiateStreaming } = WebAssembly;
    /** @type {typeof instantiateStreaming} */
    const noted = (...request) => {
      const made = instantiateStreaming(...request);
      made.catch(reject);
      return made;
    };
    Object.assign(WebAssembly, { instantiateStreaming: noted });
  });
}

/**
 * Makes the modules of the archive (app/site/python_files.py) ready for import.
 *
 * @param {any} python Pyodide's own object.
 * @param {ArrayBuffer} archive
 */
export function addModules(python, archive) {
  const packed = python.toPy(new Uint8Array(archive));
  const unpacked = python.pyimport("compression.zstd").decompress(packed);
  // A view of Python's memory: JavaScript would keep a copy for minutes.
  const buffer = unpacked.getBuffer("u8");
  const bytes = buffer.data;
  let at = bytes.indexOf("\n".charCodeAt(0)) + 1;
  for (const [name, size] of JSON.parse(new TextDecoder().decode(bytes.subarray(0, at)))) {
    const path = `/glassmq/${name}`;
    python.FS.mkdirTree(python.PATH.dirname(path));
    // A buffer of its own, so that freeModules() frees it.
    python.FS.writeFile(path, bytes.slice(at, (at += size)), { canOwn: true });
  }
  buffer.release();
  for (const each of [packed, unpacked]) each.destroy();
  // The methods of dataclasses were compiled at the build (app/site/compile_modules.mjs).
  python.runPython(`
import sys
sys.path = ["/glassmq", *sys.path, "/glassmq/stdlib"]
import dataclasses, marshal
with open("/glassmq/dataclasses.marshal", "rb") as file:
    methods = marshal.loads(file.read())
dataclasses.exec = lambda source, *names: exec(methods.get(source, source), *names)
`);
}

/**
 * Frees what only imports need: the files of the modules that are imported now, and the compiled methods. What is
 * imported later makes its methods itself.
 *
 * @param {any} python Pyodide's own object.
 */
export function freeModules(python) {
  python.runPython(`
import dataclasses, os, sys
del dataclasses.exec
for file in {getattr(module, "__file__", None) or "" for module in sys.modules.values()}:
    if file.startswith("/glassmq/") and file.endswith(".pyc"):
        os.unlink(file)
`);
}

/**
 * Makes a `fetch` that says in megabytes what has been loaded.
 *
 * @param {number} all What will be, in bytes: the build has added it up.
 * @param {(progress: Progress) => void} tell
 */
function countedFetch(all, tell) {
  let bytes = 0;
  const count = new Intl.NumberFormat("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 });
  /** @param {ReadableStream<Uint8Array>} body */
  const read = async (body) => {
    const reader = body.getReader();
    for (let part = await reader.read(); part.value; part = await reader.read()) {
      bytes += part.value.byteLength;
      const megabytes = `${count.format(bytes / 1e6)} / ${count.format(all / 1e6)} MB`;
      if (bytes <= all) tell({ progress: "python", megabytes });
    }
  };
  /** @type {typeof fetch} */
  return async (resource, options) => {
    const fetchOne = String(resource).endsWith(".wasm") ? fetchWebAssembly : plainFetch;
    const response = await fetchOne(resource, options);
    // A copy is counted: the browser keeps what it compiles of WebAssembly for the response itself, and for no other.
    const { body } = response.clone();
    if (body) read(body).catch(() => {}); // who reads the response reports it
    return response;
  };
}

/**
 * Gets WebAssembly from the browser's HTTP cache or the host: Chromium has what it compiled of it at the visit before,
 * and of what a service worker answers some visits later. The address has the version, so the file never changes. Where
 * neither has it, as offline, static/site/service_worker.js answers from its copy.
 *
 * @type {typeof fetch}
 */
async function fetchWebAssembly(resource, options) {
  const response = await plainFetch(resource, { ...options, cache: "force-cache" }).catch(() => null);
  return response?.ok ? response : plainFetch(`${resource}?copy`, options);
}

/** @param {Response} response */
async function bytesOf(response) {
  if (!response.ok) throw new Error(`${ARCHIVE}: ${response.status}`);
  return response.arrayBuffer();
}
