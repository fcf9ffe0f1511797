// @ts-check
// The list of lessons: its search, and the learner's progress as a file.

import "../common/chrome.js";
import { allOf, elementOf, firstOf, onChosenFile } from "../common/elements.js";
import { t } from "../common/i18n.js";
import { searchList } from "../common/list_search.js";
import { post } from "../common/request.js";
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
  const progress = t("lesson.list.progress", { done: Math.min(done, bar.max), of: bar.max });
  const isFinished = done >= bar.max;
  bar.value = done;
  bar.ariaLabel = progress;
  row.classList.toggle("is-finished", isFinished);
  firstOf(".lesson-state", HTMLElement, row).textContent = isFinished ? `✓ ${t("lesson.list.finished")}` : progress;
}

/**
 * The lesson that a track offers next: the first that is not finished.
 *
 * @param {HTMLElement} track
 */
function offerNext(track) {
  const lessons = allOf(".lesson-item", HTMLElement, track);
  const rest = lessons.filter((row) => !row.classList.contains("is-finished"));
  const finished = lessons.length - rest.length;
  const next = rest[0] ?? lessons[0];
  const isBegun = finished > 0 || firstOf("progress", HTMLProgressElement, next).value > 0;
  const way = rest.length === 0 ? "again_with" : isBegun ? "go_on_with" : "begin_with";
  const link = firstOf(".track-next", HTMLAnchorElement, track);
  firstOf(".track-state", HTMLElement, track).textContent = t("lesson.list.track_done", {
    done: finished,
    n: lessons.length,
  });
  link.href = firstOf(".lesson-link", HTMLAnchorElement, next).href;
  link.textContent = t(`lesson.list.${way}`, { n: firstOf(".lesson-number", HTMLElement, next).textContent });
  link.classList.toggle("button-primary", rest.length > 0);
}

const input = elementOf("progress-file", HTMLInputElement);
const taken = elementOf("progress-taken");

/** @param {File} file */
async function load(file) {
  const limit = Number(input.dataset.maxBytes);
  if (file.size > limit) return t("lab.error.import_too_long", { limit });
  const { answer, why } = await post("/api/lessons/progress", await file.arrayBuffer());
  if (answer) setTimeout(() => location.reload(), 1500);
  return why ?? t("lesson.file.taken", answer);
}

onChosenFile(input, async (file) => (taken.textContent = await load(file)));

const known = await doneSteps();
if (known) {
  for (const row of rows) showDone(row, known.get(row.dataset.lesson ?? ""));
  allOf(".lesson-track").forEach(offerNext);
}
