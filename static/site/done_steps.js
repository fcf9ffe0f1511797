// @ts-check
// What the learner has done: see static/lessons/done_steps.js.

import { keptSteps } from "./kept_steps.js";

/**
 * @param {string} lesson
 * @returns {Promise<Picture.LessonProgress>}
 */
export async function progressOf(lesson) {
  // The world comes after this, and the copy for use offline after the world.
  document.documentElement.dataset.worker ??= "starts";
  const steps = (await keptSteps()).filter((each) => each.lesson === lesson);
  const made = steps.filter(({ right }) => right !== null);
  return {
    progress: steps.map(({ step }) => step),
    predictions: Object.fromEntries(made.map(({ step, prediction, right }) => [step, { prediction, right }])),
  };
}

export async function doneSteps() {
  const done = new Map();
  for (const { lesson } of await keptSteps()) done.set(lesson, (done.get(lesson) ?? 0) + 1);
  return done;
}
