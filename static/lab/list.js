// The list of scenarios: its form that takes an exported run.

import "../common/chrome.js";
import { acceptDrops, importRun } from "./import_run.js";

const form = document.getElementById("import");
const input = form.querySelector("input[type=file]");
const problem = document.getElementById("import-problem");

async function take(file) {
  problem.hidden = true;
  form.dataset.busy = "yes";
  try {
    await importRun(file, Number(form.dataset.maxBytes));
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
  } finally {
    delete form.dataset.busy;
    input.value = "";
  }
}

input.addEventListener("change", () => input.files.length > 0 && take(input.files[0]));
acceptDrops(take, (isOver) => form.classList.toggle("is-over", isOver));
