// @ts-check
// The user's actions on the world. Panels call these, or ask the run itself, which carries them out.

import { effect } from "@preact/signals";
import { t } from "../i18n.js";
import { mine, tell, view } from "./view.js";

/**
 * Where the world of the page runs: at the server (source_socket.js) or in a recording, which has some of it.
 *
 * @typedef {object} Run
 * @property {boolean} isRecording
 * @property {any} [scenario] The scenario of the lab that is like a recording of real clients: its text, what it lacks.
 * @property {(action: string, values?: object) => void} control
 * @property {(kind: string, target: any, values?: object) => void} command
 * @property {(id: any) => Promise<any>} frame
 * @property {(broker: string, record: any) => Promise<any>} record Everything about a record of a broker's commit log.
 * @property {(broker: string, message: any) => Promise<any>} message The same of what an entry of a queue points to.
 * @property {(after: number, count: number) => Promise<any>} entries Of the journal: those after a number;
 * @property {(wanted: Record<string, string | number>) => Promise<any>} search those that fit a filter;
 * @property {(leftUs: number, rightUs: number) => Promise<any>} window what happened in a stretch of time.
 * @property {(text: string) => Promise<any>} lives Messages whose key contains a text, with their lives: also those
 *   that the view leaves out.
 * @property {(key: string) => Promise<any>} why Why that happened to a message, as of the moment that is shown; null: a
 *   recording that has no answer.
 * @property {(file: string) => Promise<any>} sourceFile
 * @property {(isFresh: boolean) => void} openFound Answers what the page asks about a run that was found: begin another
 *   one, or join it.
 * @property {(link: string) => void} openLink Opens the run of a link again, in place of this one.
 * @property {() => Promise<any>} auditPlan What an audit of this run by Spark would look at;
 * @property {(event: number) => Promise<any>} startAudit begins one of the run as it is at `event`: {run, address}.
 * @property {(change: any) => Promise<any>} variant The links of this run and of one with one difference: {left,
 *   right}; see app/lab/routes/comparison_routes.py.
 * @property {(format: string) => string | null} exportAddress
 */

/** @type {Run} */
export let run;

/** @param {any} next */
export function useSource(next) {
  run = next;
}

export const isRecording = () => run?.isRecording ?? false;
/** Opens a run and plays it by itself; the last events before `event` come one by one.
    @param {string} link @param {number} event */
export function replayTo(link, event) {
  const { world } = view.peek();
  run.openLink(link);
  const stop = view.subscribe(({ world: { id }, busy }) => {
    if (id === world.id || busy !== null) return;
    queueMicrotask(() => stop());
    setSpeed("auto");
    control("play", { slow_to: event });
  });
}
const GO_ON_AFTER_MS = 250;
/** What a user may set while time is paused for an open menu, so that it still continues afterwards. */
const MOVES_NOTHING = ["speed", "publish"];
let [rests, goingOn] = [false, 0];
/** What the run goes on to; null: nothing, or it has come. @type {object | null} */
let sought = null;

/** @type {(action: string, values?: object) => void} */
const control = (action, values) => {
  if (!MOVES_NOTHING.includes(action)) [rests, sought] = [false, (action === "run-until" && values) || null];
  return run.control(action, values);
};

/** Time pauses while a user looks at something (`isLooking`, a signal), so that it does not disappear. Then it
    goes on, unless he moved it himself.
    @param {import("@preact/signals").ReadonlySignal<unknown>} isLooking */
export function restWhile(isLooking) {
  isLooking.subscribe((looks) => {
    clearTimeout(goingOn);
    if (!looks) goingOn = setTimeout(() => rests && play(), GO_ON_AFTER_MS);
    else if (!rests && view.peek().playing && mine.peek()) {
      pause();
      rests = true;
    }
  });
}

/** Says so when a run ends before what it went on to has come. */
export function tellWhatNeverCame() {
  view.subscribe(({ busy, stopped_by: stopped }) => {
    if (!sought || busy !== null || stopped === null) return;
    if (stopped.kind === "over") tell(t("lab.until.never"), true);
    sought = null;
  });
}

export const play = () => control("play");
export const pause = () => control("pause");
export const togglePlay = () => (view.peek().playing ? pause() : play());
export const step = () => control("step");
/** @param {string | null} actor */
export const stepActor = (actor) => control("step-actor", { actor });
export const stepBack = () => control("step-back");
/** @param {object} condition */
export const runUntil = (condition) => control("run-until", condition);
/** @param {number | string | undefined} speed */
export const setSpeed = (speed) => control("speed", { speed });
export const fork = () => control("fork");
export const restart = () => control("restart");
/** Shows the world as it was at a virtual time, or lets it run there.
    @param {number} timeUs */
export const standAt = (timeUs) => control("stand-at", { time_us: timeUs });
/** Lets others follow this world, read-only; or not any more.
    @param {boolean} on */
export const publish = (on) => control("publish", { on });

/** Kinds that can be done before anything has happened. */
const ANEW = [
  "lock-switch",
  "partition",
  "link-delay",
  "link-loss",
  "link-duplicate",
  "link-reorder",
  "drop-next",
  "delay-next",
  "duplicate-next",
  "listener",
  "clock-skew",
  "slow-fsync",
  "disk-full",
];
export const isOver = () => view.value.is_over && !view.value.in_past;
/** Whether a command of that kind can still change something: in a run that is over it begins the run again.
    @param {string} kind */
export const hasEffect = (kind) => !isOver() || ANEW.includes(kind) || kind === "setting";

/** Commands change the world; in a recording nothing can be changed. A run that is over begins again with them.
    @param {string} kind @param {unknown} target @param {object} values */
export function command(kind, target, values = {}) {
  if (run.isRecording) return tell(t("lab.recording_fixed"), true);
  const isAnew = isOver() && ANEW.includes(kind);
  if (isAnew) restart();
  run.command(kind, target, values);
  if (isAnew) play();
}

let stopSetting = () => {};

/** Sets the same on several nodes, one after the other: each makes another run, and nothing else is taken meanwhile.
    @param {string[]} names @param {string} name @param {unknown} value */
export function setForAll(names, name, value) {
  stopSetting();
  const left = [...names];
  /** @type {string | null} */
  let sent = null;
  /** @param {string} node */
  const isSet = (node) =>
    view.value.settings.some((one) => one.node === node && one.name === name && one.value === value);
  stopSetting = effect(() => {
    if (view.value.busy !== null || (sent && !isSet(sent))) return;
    while (left.length > 0 && isSet(left[0])) left.shift();
    sent = left.shift() ?? null;
    if (sent) command("setting", sent, { name, value });
    else queueMicrotask(stopSetting);
  });
}

/** Shows the world as it was after event number `event`. While the handle is dragged only the last request counts.
    @param {number} event */
export function scrub(event) {
  const request = Math.min(Math.max(Math.round(event), 0), view.peek().events_total);
  const isIdle = scrubRequest === null;
  scrubRequest = request;
  if (isIdle) sendScrub();
}

const SCRUB_EVERY_MS = 60;
/** @type {number | null} */
let scrubRequest = null;

function sendScrub() {
  const request = scrubRequest;
  control("scrub", { event: request });
  setTimeout(() => {
    if (scrubRequest !== request) sendScrub();
    else scrubRequest = null;
  }, SCRUB_EVERY_MS);
}
