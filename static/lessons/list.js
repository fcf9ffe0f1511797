// @ts-check
// The list of lessons: its search, and the learner's progress as a file.

import "../common/chrome.js";
import { allOf, elementOf, firstOf } from "../common/elements.js";
import { language, t } from "../common/i18n.js";
import { searchList } from "../common/list_search.js";
import { sendRequest } from "../common/transport.js";
import { doneSteps } from "./done_steps.js";

const rows = allOf(".lesson-item");
searchList(rows, (row) => row.dataset.lesson ?? "", "lesson.list.found");

/**
 * The server wrote progress into the rows; where pages are files, they learn it here.
 *
 * @param {HTMLElement} row
 * @param {number} [done]
 */
function showDone(row, done) {
  if (!done) return;
  const bar = firstOf("progress", HTMLProgressElement, row);
  const progress = t("lesson.list.progress", { done, of: bar.max });
  const isFinished = done >= bar.max;
  bar.value = done;
  bar.ariaLabel = progress;
  row.classList.toggle("is-finished", isFinished);
  firstOf(".lesson-state", HTMLElement, row).textContent = isFinished ? `✓ ${t("lesson.list.finished")}` : progress;
  const button = firstOf(".button", HTMLElement, row);
  button.textContent = t(isFinished ? "lesson.list.again" : "lesson.list.go_on");
  button.classList.toggle("button-primary", !isFinished);
}

const known = await doneSteps();
if (known) for (const row of rows) showDone(row, known.get(row.dataset.lesson ?? ""));

const input = elementOf("progress-file", HTMLInputElement);
const taken = elementOf("progress-taken");

/** @param {File} file */
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
  const file = input.files?.[0];
  if (!file) return;
  taken.textContent = await load(file).catch(() => t("error.no_answer"));
  input.value = "";
});
