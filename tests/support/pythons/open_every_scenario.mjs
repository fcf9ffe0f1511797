// Opens every scenario with the Python of a built site: node open_every_scenario.mjs SITE
// Prints the name of each that does not open, and why, as a JSON object.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const folder = `${process.argv[2]}/python/`;
const { loadPyodide } = await import(pathToFileURL(`${folder}pyodide.mjs`));
const python = await loadPyodide({ indexURL: folder });
python.FS.writeFile("/glassmq.tar.zst", await readFile(`${folder}glassmq.tar.zst`));
console.log(
    python.runPython(`
import json, logging, shutil, sys
shutil.unpack_archive("/glassmq.tar.zst", "/glassmq", "zstdtar")
sys.path = ["/glassmq", *sys.path, "/glassmq/stdlib"]
logging.disable(logging.CRITICAL)
from app.site.worker import SiteWorker
from engine.lab.scenario.scenario_files import scenario_names

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
json.dumps(failed)
`),
);
