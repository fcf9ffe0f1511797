// The list of lessons: its search, and the learner's progress as a file.

import "../common/chrome.js";
import { language, t } from "../common/i18n.js";
import { searchList } from "../common/list_search.js";
import { sendRequest } from "../common/transport.js";
import { doneSteps } from "./done_steps.js";

const rows = [...document.querySelectorAll(".lesson-item")];
searchList(rows, (row) => row.dataset.lesson, "lesson.list.found");

/** The server wrote progress into the rows; where pages are files, they learn it here. */
function showDone(row, done) {
  const bar = row.querySelector("progress");
  if (!done) return;
  const progress = t("lesson.list.progress", { done, of: bar.max });
  const isFinished = done >= bar.max;
  bar.value = done;
  bar.ariaLabel = progress;
  row.classList.toggle("is-finished", isFinished);
  row.querySelector(".lesson-state").textContent = isFinished ? `✓ ${t("lesson.list.finished")}` : progress;
  const button = row.querySelector(".button");
  button.textContent = t(isFinished ? "lesson.list.again" : "lesson.list.go_on");
  button.classList.toggle("button-primary", !isFinished);
}

const known = await doneSteps();
if (known) for (const row of rows) showDone(row, known.get(row.dataset.lesson));

const input = document.getElementById("progress-file");
const taken = document.getElementById("progress-taken");

async function load(file) {
  const limit = Number(input.dataset.maxBytes);
  if (file.size > limit) return t("lab.error.import_too_long", { limit });
  const headers = { "Content-Type": "application/json" };
  const body = await file.arrayBuffer();
  const response = await sendRequest("/api/lessons/progress", { method: "POST", body, headers });
  const answer = await response.json();
  if (response.ok) setTimeout(() => location.reload(), 1500);
  return response.ok ? t("lesson.file.taken", answer) : (answer.text ?? answer.error)[language];
}

input.addEventListener("change", async () => {
  taken.textContent = await load(input.files[0]).catch(() => t("error.no_answer"));
  input.value = "";
});
