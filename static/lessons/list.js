// @ts-check
// The list of lessons: its search, and the learner's progress as a file.

import "../common/chrome.js";
import { language, t } from "../common/i18n.js";
import { searchList } from "../common/list_search.js";
import { sendRequest } from "../common/transport.js";
import { doneSteps } from "./done_steps.js";

const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".lesson-item")]);
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
}

/** The lesson that a track offers next: the first that is not finished. */
function offerNext(track) {
  const lessons = [...track.querySelectorAll(".lesson-item")];
  const rest = lessons.filter((row) => !row.classList.contains("is-finished"));
  const finished = lessons.length - rest.length;
  const next = rest[0] ?? lessons[0];
  const isBegun = finished > 0 || next.querySelector("progress").value > 0;
  const way = rest.length === 0 ? "again_with" : isBegun ? "go_on_with" : "begin_with";
  const link = track.querySelector(".track-next");
  track.querySelector(".track-state").textContent = t("lesson.list.track_done", { done: finished, n: lessons.length });
  link.href = next.querySelector(".lesson-link").href;
  link.textContent = t(`lesson.list.${way}`, { n: next.querySelector(".lesson-number").textContent });
  link.classList.toggle("button-primary", rest.length > 0);
}

const known = await doneSteps();
if (known) {
  for (const row of rows) showDone(row, known.get(row.dataset.lesson ?? ""));
  document.querySelectorAll(".lesson-track").forEach(offerNext);
}

const input = /** @type {HTMLInputElement} */ (document.getElementById("progress-file"));
const taken = /** @type {HTMLElement} */ (document.getElementById("progress-taken"));

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
  taken.textContent = await load(input.files?.[0]).catch(() => t("error.no_answer"));
  input.value = "";
});
