// @ts-check
// From a step's question to its result: what the buttons of the panel do, and what happens when the world comes to
// rest.

import { computed, effect, signal, untracked } from "@preact/signals";
import { t } from "../common/i18n.js";
import { fitSpan } from "../parts/stage/sequence_window.js";
import { view } from "../common/world/view.js";
import {
  acceptVerdict,
  done,
  forgetEverything,
  goTo,
  isDecided,
  lesson,
  place,
  recordOf,
  reopen,
  step,
  steps,
} from "./lesson.js";
import { replay, replaying } from "./replay.js";
import { unfold } from "./targets.js";
import { acting, atRest, attempt, carryOut, check, openAnother, prepare, readyFor, resetProgress } from "./world.js";

/** After the last change of the world, so that a hand that steps is not interrupted. */
/** @typedef {import("./lesson.js").Verdict} Verdict */

const CHECK_AFTER_MS = 250;

/** What went wrong with the open step, in the page's language, or null. */
export const problem = signal(/** @type {string | null} */ (null));
/**
 * By id of the step: the events that its action took, for watching it again.
 *
 * @type {Map<string, [from: number, to: number]>}
 */
const spans = new Map();

/** The open step's result; not while it is still being shown how it came about. */
export const shownVerdict = computed(() =>
  step.value && !replaying.value && !acting.value ? (recordOf(step.value.id).verdict ?? null) : null,
);

export async function doIt() {
  const index = place.peek() - 1;
  const { id } = steps[index];
  problem.value = null;
  let from = view.peek();
  let verdict = /** @type {Verdict | null} */ (null);
  problem.value = await attempt(async () => {
    if (readyFor.peek() !== index) await prepare(index);
    from = view.peek();
    // Played past what the action waits for: it would run on, in search of another one.
    if (from.event > (readyAt ?? 0)) verdict = await check(id);
    if (!verdict?.done) await carryOut(index);
  });
  if (problem.value !== null) return;
  /** @type {[number, number]} */
  const span = [Math.min(from.event, readyAt ?? from.event), view.peek().event];
  spans.set(id, span);
  fitSpan(view.peek().time_us - from.time_us);
  verdict = verdict?.done ? verdict : await check(id);
  if (verdict?.done) {
    settle(index, verdict);
    await replay(...span, false);
  } else {
    problem.value = t(verdict ? "lesson.problem.not_there" : "lesson.problem.no_check");
    readyFor.value = null;
  }
}

/**
 * @param {number} index
 * @param {Verdict} verdict
 */
function settle(index, verdict) {
  acceptVerdict(steps[index].id, verdict);
  readyFor.value = index + 1;
  problem.value = null;
}

/** @param {string} id */
export const canWatch = (id) => spans.has(id) && readyFor.value === place.value;

/** @param {string} id */
export function watchAgain(id) {
  const span = spans.get(id);
  return span && replay(...span, true);
}

/** Begins the world again and brings it to where the open step starts. */
export async function setTheStage() {
  problem.value = null;
  problem.value = await attempt(() => prepare(Math.max(0, place.peek() - 1)));
}

/** The open step once more, from its question on. */
export function doAgain() {
  reopen(step.peek().id);
  problem.value = null;
}

/** The lesson from its beginning, nothing done. */
export async function beginAnew() {
  await resetProgress();
  forgetEverything();
  problem.value = await attempt(() => prepare(0));
  goTo(0);
}

// ------------------------------------------------------------------------------------------- what happens by itself

/**
 * The event at which the world became ready: before it, somebody has wound it back.
 *
 * @type {number | null}
 */
let readyAt = null;

/** Does the world come to rest where the open step wants it, the learner has done it by hand. */
export function followTheWorld() {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  effect(() => {
    const { event, commands, in_past: inPast } = view.value;
    const isOpen = step.value && isDecided(step.value) && !recordOf(step.value.id).verdict;
    clearTimeout(timer);
    if (isOpen && atRest.value && !inPast && !acting.value && readyFor.value === place.value - 1) {
      timer = setTimeout(() => checkQuietly(place.peek() - 1), CHECK_AFTER_MS, event, commands.length);
    }
  });
  effect(() => {
    if (!atRest.value || acting.value || view.value.in_past) return;
    const { event, commands } = view.value;
    if (event === 0 && commands.length === 0 && place.value <= 1) readyFor.value = 0;
    else if (step.value && view.value.link === step.value.start_link) readyFor.value = place.value - 1;
    else if (event < (readyAt ?? 0)) readyFor.value = null;
  });
  effect(() => void (readyAt = readyFor.value === null ? null : view.peek().event));
  effect(() => void (place.value, (problem.value = null)));
  effect(() => {
    const { point_at: shown = [], predict } = step.value ?? {};
    untracked(() => [...shown, ...(predict?.targets ?? [])].forEach(unfold));
  });
  let known;
  effect(() => {
    const { id } = view.value.world;
    if (id === undefined || id === known) return;
    known = id;
    untracked(takeOver);
  });
}

async function checkQuietly(index) {
  const { id } = steps[index];
  const verdict = await check(id);
  if (verdict?.done && place.peek() - 1 === index && !recordOf(id).verdict) settle(index, verdict);
}

/** The world that is there when the page opens, or when the server has built it again. A new one is brought to where
    the open step starts; one that is under way stands before the first step that is not done, as far as one can know.
    */
function takeOver() {
  const { event, commands, scenario } = view.peek();
  if (scenario !== lesson.scenario) return void openAnother();
  const index = place.peek() - 1;
  const firstOpen = steps.findIndex(({ id }) => !done.peek().has(id));
  if (event > 0 || commands.length > 0) readyFor.value = firstOpen === index ? index : null;
  else if (index < steps.length) queueMicrotask(setTheStage);
}
