// @ts-check
// What the learner has done: see static/lessons/done_steps.js.

import { keptSteps } from "./kept_steps.js";

export async function doneSteps() {
  const done = new Map();
  for (const { lesson } of await keptSteps()) done.set(lesson, (done.get(lesson) ?? 0) + 1);
  return done;
}
