// Opens every scenario with the Python of a built site: node open_every_scenario.mjs SITE
// Prints as JSON the name of each that does not open, and why, how many classes compiled methods at the start, and the
// megabytes of files of modules before and after freeModules(), which a page calls then.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { addModules, freeModules } from "../../../static/site/python.js";

const folder = `${process.argv[2]}/python/`;
const versions = JSON.parse(await readFile(`${process.argv[2]}/versions.json`));
const runtime = `${folder}${versions.pyodide}/`;
const { loadPyodide } = await import(pathToFileURL(`${runtime}pyodide.mjs`));
const python = await loadPyodide({ indexURL: runtime });
addModules(python, await readFile(`${folder}glassmq.zst`));
python.runPython(`
import json, logging, sys
from pathlib import Path

compiled = []

def note_compiled(event, arguments):
    if event == "compile" and str(arguments[0]).startswith(("def __create_fn__", "b'def __create_fn__")):
        compiled.append(arguments)

def megabytes():
    return sum(path.stat().st_size for path in Path("/glassmq").rglob("*.pyc")) / 1e6

sys.addaudithook(note_compiled)
logging.disable(logging.CRITICAL)
megabytes_before = megabytes()
from app.site.worker import SiteWorker
from engine.lab.scenario.scenario_files import scenario_names
compiled_at_start = len(compiled)
`);
freeModules(python);
console.log(
    python.runPython(`
megabytes_after = megabytes()
answers = []
worker = SiteWorker(lambda to, event, message: answers.append((event, message)))
failed = {}
for name in scenario_names():
    answers.clear()
    worker.connect(name)
    worker.event(name, "open", json.dumps({"scenario": name}))
    for _ in range(3):
        worker.work()
    if not any(event == "snapshot" for event, _ in answers):
        failed[name] = str(answers)[:500]
    worker.event(name, "control", json.dumps({"action": "step"}))
    worker.work()
    worker.close(name)
json.dumps({
    "failed": failed,
    "compiled_at_start": compiled_at_start,
    "megabytes": [megabytes_before, megabytes_after],
})
`),
);
