// @ts-check
// The lesson that the server wrote into the page, and how far the learner is: the page that is open, predictions,
// results.
//
// Which steps are done the server knows (per browser). What was predicted and what came out is kept in this browser, so
// that a reload shows it again.

import { computed, signal } from "@preact/signals";
import { elementOf } from "../common/elements.js";
import { forget, keep, kept } from "../common/viewer/kept.js";
import { progressOf } from "./done_steps.js";

/**
 * What came back of a step, or what the page was given of one that was done.
 *
 * @typedef {Pick<Picture.StepCheck, "done" | "after_html" | "prediction">} Verdict
 *
 * @typedef {{ prediction?: any, isSkipped?: boolean, verdict?: Verdict }} Record
 */

/** @type {Picture.ShownLesson} */
export const lesson = JSON.parse(elementOf("lesson-data").textContent);
Object.assign(lesson, await progressOf(lesson.name));
export const { steps } = lesson;

const STORED = `glassmq.lesson.${lesson.name}`;
const INTRO = 0;
const SUMMARY = steps.length + 1;

/** 0: the introduction; 1 to n: the steps; n + 1: the summary. */
export const place = signal(firstPlace());
export const step = computed(() => steps[place.value - 1] ?? null);
export const isIntro = computed(() => place.value === INTRO);
export const isSummary = computed(() => place.value === SUMMARY);

/** Ids of the steps that are done. */
export const done = signal(new Set(lesson.progress));
export const allDone = computed(() => steps.every(({ id }) => done.value.has(id)));

/** By id of the step: `prediction` as it goes to the server, `verdict` as it came back. */
export const records = signal(stored());
/** @type {(id: string) => Record} */
export const recordOf = (id) => records.value[id] ?? {};
/** By id of the step: how many hints are open. */
export const hintsOpen = signal(/** @type {{ [id: string]: number }} */ ({}));

/** What this browser remembers; a step that was done with another one's help has what the server knows. */
function stored() {
  /** @type {{ [id: string]: Record }} */
  const known = {};
  for (const { id, after_html: after } of steps) {
    if (!lesson.progress.includes(id)) continue;
    const made = lesson.predictions?.[id];
    known[id] = {
      verdict: {
        done: true,
        after_html: after,
        prediction: made ? { right: made.right === true, answer: null } : null,
      },
    };
    if (made) known[id].prediction = made.prediction;
    else known[id].isSkipped = true;
  }
  try {
    return { ...known, ...JSON.parse(kept(STORED) ?? "{}") };
  } catch {
    return known;
  }
}

/**
 * @param {string} id
 * @param {Record} change
 */
export function note(id, change) {
  records.value = { ...records.value, [id]: { ...records.value[id], ...change } };
  keep(STORED, JSON.stringify(records.value));
}

/**
 * Whether the step's question is out of the way: there is none, it is answered, or the learner skips it.
 *
 * @param {Picture.ShownStep} step
 */
export function isDecided({ id, predict }) {
  const { prediction, isSkipped } = recordOf(id);
  return !predict || isSkipped || prediction !== undefined;
}

/**
 * @param {string} id
 * @param {Verdict} verdict
 */
export function acceptVerdict(id, verdict) {
  note(id, { verdict });
  done.value = new Set([...done.value, id]);
}

/**
 * The step's question is open again. That it was done once stays so.
 *
 * @param {string} id
 */
export function reopen(id) {
  records.value = { ...records.value, [id]: {} };
}

export function forgetEverything() {
  forget(STORED);
  records.value = {};
  hintsOpen.value = {};
  done.value = new Set();
}

// ------------------------------------------------------------------------------------------------ where one is

/** The address names the step, so that a teacher can link to it and a reload stays there. */
function firstPlace() {
  const asked = new URLSearchParams(location.search).get("step");
  if (asked === "summary") return SUMMARY;
  const at = steps.findIndex(({ id }) => id === asked);
  if (at >= 0) return at + 1;
  const known = new Set(lesson.progress);
  if (known.size === 0 || known.size >= steps.length) return INTRO;
  return steps.findIndex(({ id }) => !known.has(id)) + 1;
}

/** @param {number} next */
export function goTo(next) {
  place.value = Math.min(SUMMARY, Math.max(INTRO, next));
  const address = new URL(location.href);
  const name = isSummary.value ? "summary" : step.value?.id;
  if (name) address.searchParams.set("step", name);
  else address.searchParams.delete("step");
  history.replaceState(history.state, "", address);
}
