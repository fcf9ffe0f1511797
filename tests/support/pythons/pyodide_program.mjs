// Runs a Python program under WebAssembly: node pyodide_program.mjs FOLDERS PROGRAM ARGUMENT...
// FOLDERS, separated by colons, are those of this machine that the program sees, under the same names.
import { loadPyodide } from "pyodide";

const [folders, ...argv] = process.argv.slice(2);
const python = await loadPyodide();
for (const folder of folders.split(":")) python.mountNodeFS(folder, folder);
python.globals.set("arguments", python.toPy(argv));
try {
    python.runPython(`
import asyncio, runpy, sys
sys.dont_write_bytecode = True
sys.argv = arguments
asyncio._set_running_loop(None)  # the browser's: a world runs one of its own
runpy.run_path(sys.argv[0], run_name="__main__")
`);
} catch (error) {
    console.error(error.message); // without the engine's one line of a megabyte
    process.exitCode = 1;
}
