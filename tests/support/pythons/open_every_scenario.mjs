// Opens every scenario with the Python of a built site: node open_every_scenario.mjs SITE
// Prints as JSON the name of each that does not open, and why, and how many classes compiled methods at the start.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { addModules } from "../../../static/site/python.js";

const folder = `${process.argv[2]}/python/`;
const { loadPyodide } = await import(pathToFileURL(`${folder}pyodide.mjs`));
const python = await loadPyodide({ indexURL: folder });
addModules(python, await readFile(`${folder}glassmq.zst`));
console.log(
    python.runPython(`
import json, logging, sys

compiled = []

def note_compiled(event, arguments):
    if event == "compile" and str(arguments[0]).startswith(("def __create_fn__", "b'def __create_fn__")):
        compiled.append(arguments)

sys.addaudithook(note_compiled)
logging.disable(logging.CRITICAL)
from app.site.worker import SiteWorker
from engine.lab.scenario.scenario_files import scenario_names
compiled_at_start = len(compiled)

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
json.dumps({"failed": failed, "compiled_at_start": compiled_at_start})
`),
);
