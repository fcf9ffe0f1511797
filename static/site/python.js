// @ts-check
// Python on WebAssembly with the modules of GlassMQ, in a worker: that of a page, or that of a search.

export const PYTHON = new URL("../../python/", import.meta.url);

const ARCHIVE = "glassmq.tar.zst";

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
  python.FS.writeFile("/glassmq.tar.zst", new Uint8Array(await archive));
  tell({ progress: "application" });
  // Quicker than tarfile's own unpacking, which distrusts each path.
  python.runPython(`
import os, sys, tarfile
with tarfile.open("/glassmq.tar.zst", "r|zst") as archive:
    for entry in archive:
        path = f"/glassmq/{entry.name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb", buffering=0) as file:
            file.write(archive.extractfile(entry).read())
os.remove("/glassmq.tar.zst")
sys.path = ["/glassmq", *sys.path, "/glassmq/stdlib"]
`);
  return python;
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
