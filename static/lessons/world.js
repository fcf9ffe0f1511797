// @ts-check
// The lesson's world: carries out what a step asks for, one thing after the other, and asks the server the result.
//
// The actions are those that a learner can do by hand on the stage: controls and commands, as the page sends them.

import { computed, effect, signal } from "@preact/signals";
import { post } from "../common/request.js";
import { t } from "../common/i18n.js";
import { bilingual } from "../common/world/format.js";
import { keepAddressInStep } from "../common/world/permalink.js";
import { useSource } from "../common/world/session.js";
import { openSocket } from "../common/world/source_socket.js";
import { loaded, status, view } from "../common/world/view.js";
import { lesson, recordOf, steps } from "./lesson.js";

/** Longer than any action takes on a busy machine. */
const PATIENCE_MS = 40_000;

/** @typedef {{ kind: "preparing" | "doing", at: number, of: number }} Doing */

/** Why the world cannot be had, in the page's language; or null. */
export const refusedWorld = signal(/** @type {{ reason: string, text: string } | null} */ (null));
/** What is being done, or null. */
export const acting = signal(/** @type {Doing | null} */ (null));
/** Index of the step for which the world is ready, as far as is known; or null. */
export const readyFor = signal(/** @type {number | null} */ (null));
/** This page may act on its world. */
export const isReachable = computed(() => loaded.value && status.value === "live" && !view.value.busy);

/** The world rests, and this page knows its state. */
export const atRest = computed(() => isReachable.value && !view.value.playing);

class Interrupted extends Error {}

/** @type {ReturnType<typeof openSocket>} */
let source;
/** @type {((error: Interrupted) => void) | null} */
let onRefusal = null;

export function openWorld() {
  source = openSocket(request, (refusal) => {
    const text = bilingual(refusal.text ?? refusal);
    if (!loaded.peek()) refusedWorld.value = { reason: refusal.reason, text };
    onRefusal?.(new Interrupted(text));
  });
  useSource(source);
  keepAddressInStep();
  effect(() => {
    if (loaded.value) refusedWorld.value = null;
  });
}

/** The address holds the link of the run: a server that has restarted builds the world again from it. */
function request() {
  const link = location.hash.slice(1);
  return link ? { link } : { scenario: lesson.scenario };
}

/** A link that the server cannot read is dropped: the lesson's world begins again. */
export function openAgain() {
  if (refusedWorld.peek()?.reason === "link") openAnother();
  else source.open();
  refusedWorld.value = null;
}

/** The lesson's own world, whatever the link in the address leads to. */
export function openAnother() {
  history.replaceState(history.state, "", location.pathname + location.search);
  source.open();
}

// ------------------------------------------------------------------------------------------------ acting

/** Ends play and comes back from the past, so that an action begins where the world is. */
async function comeToRest() {
  if (view.peek().playing) source.control("pause");
  await until(() => atRest.value);
  if (view.peek().in_past) lookAt(view.peek().events_total);
  await until(() => atRest.value && !view.value.in_past);
}

/**
 * Does what a step asks for.
 *
 * @param {number} index
 */
export const carryOut = (index) => doAll(steps[index].action, "doing");

/**
 * Begins again and does the earlier steps' actions: the world is then as the step expects it.
 *
 * @param {number} index
 */
export async function prepare(index) {
  const actions = [...lesson.begin, ...steps.slice(0, index).flatMap(({ action }) => action)];
  const { event, commands } = view.peek();
  if (event > 0 || commands.length > 0) actions.unshift({ control: "restart" });
  await doAll(actions, "preparing");
  readyFor.value = index;
}

/**
 * @param {any[]} actions
 * @param {Doing["kind"]} kind
 */
async function doAll(actions, kind) {
  for (const [at, action] of actions.entries()) {
    acting.value = { kind, at, of: actions.length };
    await doOne(action);
  }
}

/**
 * Calls `work`; while it runs `acting` says so. Resolves to null, or to what went wrong in the page's language.
 *
 * @param {() => Promise<void>} work
 * @returns {Promise<string | null>}
 */
export async function attempt(work) {
  if (acting.peek()) return null;
  acting.value = { kind: "doing", at: 0, of: 1 };
  try {
    await comeToRest();
    await work();
    return null;
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    return error.message;
  } finally {
    acting.value = null;
  }
}

/**
 * Shows the world as it was after an event, or, with the last one, as it is.
 *
 * @param {number} event
 */
export const lookAt = (event) => source.control("scrub", { event });

/** One control or command; resolves when the world has done it and rests. */
async function doOne({ control, command, target = "", ...values }) {
  await until(() => atRest.value);
  const before = view.peek();
  // These two may change nothing, and then nothing comes back.
  if (control === "speed") return void source.control(control, values);
  if (values.on === "time" && before.time_us >= values.time_us) return undefined;
  const answered = until(
    () => atRest.value && (control ? hasMoved(control, before, view.value) : hasObeyed(before, view.value)),
  );
  if (control) source.control(control, values);
  else source.command(command, target, values);
  return answered;
}

function hasMoved(control, before, now) {
  if (control === "restart") return now.event === 0 && now.commands.length === 0;
  return now.event !== before.event || now.time_us !== before.time_us || now.in_past !== before.in_past;
}

/** A command shows in the list of commands; one that changes a setting builds the world again. */
const hasObeyed = (before, now) =>
  now.commands.length !== before.commands.length || now.forked_from !== before.forked_from;

/**
 * Rejects with Interrupted: refused, connection lost, or no answer.
 *
 * @param {() => boolean} isTrue Resolves when it does; it reads signals.
 * @returns {Promise<void>}
 */
function until(isTrue) {
  return new Promise((resolve, reject) => {
    let stop = null;
    let hasEnded = false;
    const end = (settle, value) => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(timer);
      onRefusal = null;
      queueMicrotask(() => stop());
      settle(value);
    };
    const timer = setTimeout(() => end(reject, new Interrupted(t("lesson.problem.no_answer"))), PATIENCE_MS);
    onRefusal = (error) => end(reject, error);
    stop = effect(() => {
      if (status.value === "reconnecting" || status.value === "refused")
        end(reject, new Interrupted(t("lesson.problem.interrupted")));
      else if (isTrue()) end(resolve);
    });
  });
}

// ------------------------------------------------------------------------------------------------ checking

/**
 * Asks the engine whether the step is done, and whether the prediction was right.
 *
 * @param {string} id
 * @returns {Promise<import("./lesson.js").Verdict | null>} null: no answer.
 */
export async function check(id) {
  const { prediction, isSkipped } = recordOf(id);
  const judged = prediction !== undefined && !isSkipped ? { prediction } : {};
  return tell("check", { world: view.peek().world.id, step: id, ...judged });
}

export const resetProgress = () => tell("reset", {});

async function tell(what, body) {
  const { answer = null, why } = await post(`/api/lessons/${encodeURIComponent(lesson.name)}/${what}`, body);
  if (why) console.warn(`${what}: ${why}`);
  return answer;
}
