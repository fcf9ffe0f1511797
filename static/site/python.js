// @ts-check
// Python on WebAssembly with the modules of GlassMQ, in a worker: that of a page, or that of a search.

export const PYTHON = new URL("../../python/", import.meta.url);

const ARCHIVE = "glassmq.zst";

/** @typedef {{ progress: string, megabytes?: string }} Progress */

/**
 * Loads Python and the modules.
 *
 * @param {(progress: Progress) => void} tell Takes each step.
 * @returns {Promise<any>} Pyodide's own object: https://pyodide.org
 */
export async function loadPython(tell) {
  tell({ progress: "python" });
  await countBytes(tell);
  const archive = fetch(new URL(ARCHIVE, PYTHON)).then(bytesOf);
  const { loadPyodide } = await import(new URL("pyodide.mjs", PYTHON).href);
  const python = await loadPyodide({ indexURL: PYTHON.href });
  tell({ progress: "modules" });
  const packed = await archive;
  tell({ progress: "application" });
  addModules(python, packed);
  return python;
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
 * Says in megabytes what has been loaded, of what will be: the build has added it up.
 *
 * @param {(progress: Progress) => void} tell
 */
async function countBytes(tell) {
  const plainFetch = self.fetch;
  const versions = new URL("../versions.json", PYTHON);
  const { python_bytes: all } = await (await plainFetch(versions)).json();
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
  self.fetch = async (...request) => {
    const response = await plainFetch(...request);
    // A copy is counted: the browser keeps the compiled form of WebAssembly for the response itself, and for no other.
    const { body } = response.clone();
    if (body) read(body).catch(() => {}); // who reads the response reports it
    return response;
  };
}

/** @param {Response} response */
async function bytesOf(response) {
  if (!response.ok) throw new Error(`${ARCHIVE}: ${response.status}`);
  return response.arrayBuffer();
}
