// @ts-check
// A search for a bad schedule in a worker of its own, so that worlds go on meanwhile: Python once more, which plays one
// schedule after the other until the worker is ended (app/site/search_worker.py).
//
// From the page's worker: the order. To it: the states of the search, as JSON.

import { freeModules, loadPython } from "./python.js";

addEventListener("message", async ({ data: order }) => {
  try {
    const python = await loadPython(() => {});
    const search = python.pyimport("app.site.search_worker");
    freeModules(python);
    search.report_search(order, postMessage);
  } catch ({ message }) {
    const problem = message.slice(-500);
    postMessage(JSON.stringify({ phase: "failed", error: { en: problem, zh: problem } }));
  }
  close();
});
