// What a person does to the world. Panels call these; the source (socket or recording) carries them out.

import { t } from "../common/i18n.js";
import { tell, view } from "./view.js";

let source = null;

export function useSource(next) {
  source = next;
}

export const isRecording = () => source?.isRecording ?? false;
export const frameDetails = (id) => source.frame(id);
/** Everything about a record of a broker's commit log; about the record that an entry of a queue points to. */
export const recordDetails = (broker, record) => source.record(broker, record);
export const messageDetails = (broker, message) => source.message(broker, message);
/** Entries of the journal: those behind a number; those that fit a filter; what happened in a stretch of time. */
export const fetchEntries = (after, count) => source.entries(after, count);
export const searchEntries = (wanted) => source.search(wanted);
/** Messages whose key contains a text, with their lives: also those that the view leaves out. */
export const findLives = (text) => source.lives(text);
/** Why that happened to a message, as of the moment that is shown; null: a recording that has no answer. */
export const askWhy = (key) => source.why(key);
export const fetchWindow = (leftUs, rightUs) => source.window(leftUs, rightUs);
export const sourceFile = (file) => source.sourceFile(file);
/** Opens the run of a link anew, in place of this one. */
export const openLink = (link) => source.openLink(link);
/** Opens a run and plays it by itself; the last events before `event` come one by one. */
export function replayTo(link, event) {
  const { world } = view.peek();
  openLink(link);
  const stop = view.subscribe(({ world: { id }, busy }) => {
    if (id === world.id || busy !== null) return;
    queueMicrotask(() => stop());
    setSpeed("auto");
    control("play", { slow_to: event });
  });
}
/** What an audit of this run by Spark would look at; begins one of the run as it stands at `event`: {run, address}. */
export const auditPlan = () => source.auditPlan();
export const startAudit = (event) => source.startAudit(event);
/** The links of this run and of one with one thing otherwise: {left, right}; see app/lab/routes/pair_routes.py. */
export const variantOf = (change) => source.variant(change);
export const exportAddress = (format) => source.exportAddress(format);

const control = (action, values) => source.control(action, values);

export const play = () => control("play");
export const pause = () => control("pause");
export const togglePlay = () => (view.peek().playing ? pause() : play());
export const step = () => control("step");
export const stepActor = (actor) => control("step-actor", { actor });
export const stepBack = () => control("step-back");
export const runUntil = (condition) => control("run-until", condition);
export const setSpeed = (speed) => control("speed", { speed });
export const fork = () => control("fork");
export const restart = () => control("restart");
/** Shows the world as it was at a virtual time, or lets it run there. */
export const standAt = (timeUs) => control("stand-at", { time_us: timeUs });
/** Lets others follow this world, read-only; or not any more. */
export const publish = (on) => control("publish", { on });

/** Commands change the world; in a recording nothing can be changed. */
export function command(kind, target, values = {}) {
  if (source.isRecording) tell(t("lab.recording_fixed"), true);
  else source.command(kind, target, values);
}

/** Shows the world as it was after event number `event`. While the handle is dragged only the last wish counts. */
export function scrub(event) {
  const wish = Math.min(Math.max(Math.round(event), 0), view.peek().events_total);
  const isIdle = scrubWish === null;
  scrubWish = wish;
  if (isIdle) sendScrub();
}

const SCRUB_EVERY_MS = 60;
let scrubWish = null;

function sendScrub() {
  const wish = scrubWish;
  control("scrub", { event: wish });
  setTimeout(() => {
    if (scrubWish !== wish) sendScrub();
    else scrubWish = null;
  }, SCRUB_EVERY_MS);
}
