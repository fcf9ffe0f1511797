// @ts-check
// The time of both worlds: it is kept here, and both are sent the time to show. Play continues only when both have
// arrived, so they never diverge.

import { computed, signal } from "@preact/signals";
import { autoTime } from "./auto_time.js";
import { both, earlierTime, onCommand, onKey, sendBoth, views } from "./two_worlds.js";

const TICK_MS = 50;
/** The lag of a slow machine is dropped. */
const TICK_MS_MOST = 200;
/** The interval after which an idle world at another time is sent the time again. */
const ASK_AGAIN_MS = 600;
/** How far a search for a violation runs at a time. */
const SEEK_US = 500_000;

/** Virtual time that both must show, microseconds; null until both are there. */
export const time = signal(/** @type {number | null} */ (null));
/** The same where time goes already. */
const now = () => time.peek() ?? 0;
export const playing = signal(false);
/** Virtual seconds per second, or "auto". */
export const speed = signal(/** @type {number | "auto"} */ ("auto"));
/** Why time passes at "auto" as quickly as it does; nothing while it is stopped. */
export const pace = signal("");

export const duration = computed(() => (both.value ? Math.max(...both.value.map((one) => one.duration_us)) : 0));
export const isOver = computed(() => both.value !== null && both.value.every((one) => one.is_over && !one.in_past));
/** Whether both have arrived at the same virtual time. */
const isTogether = computed(() => both.value !== null && both.value.every(hasArrived));
/** The time of the next event in either world. */
const nextTime = computed(() => {
  const due = (both.value ?? []).flatMap((one) => (one.next ? [one.next.due_us] : []));
  return due.length > 0 ? Math.min(...due) : null;
});

/** @param {Picture.ShownWorld} one */
const hasArrived = ({ busy, time_us: at, is_over: ended, in_past: isPast }) => {
  const asked = time.value;
  return busy === null && asked !== null && (at === asked || (ended && !isPast && at <= asked));
};

let toldAt = 0;

/**
 * @param {number} timeUs
 * @param {boolean} anew Whether a viewer begins to watch, so that everything is new.
 */
export function standAt(timeUs, anew = false) {
  const at = Math.round(Math.min(Math.max(timeUs, 0), duration.peek()));
  time.value = at;
  toldAt = performance.now();
  sendBoth({ kind: "control", action: "stand-at", values: { time_us: at, anew } });
}

/**
 * Where both are after so many seconds of "auto".
 *
 * @param {Picture.ShownWorld[]} shown
 * @param {number} seconds
 */
function autoStep(shown, seconds) {
  const next = autoTime(
    shown.flatMap(({ ahead }) => (ahead ? [ahead] : [])),
    now(),
    seconds,
  );
  pace.value = next.why;
  return next.time;
}

/** @type {ReturnType<typeof setInterval> | undefined} */
let timer;
let lastTick = 0;

export function play() {
  if (time.peek() === null || isOver.peek()) return;
  playing.value = true;
  lastTick = performance.now();
  standAt(now(), true);
}

export function pause() {
  playing.value = false;
  pace.value = "";
}
export const togglePlay = () => (playing.peek() ? pause() : play());

export function step() {
  pause();
  const due = nextTime.peek();
  if (due !== null) standAt(Math.max(due, now() + 1));
}

export async function stepBack() {
  pause();
  standAt(await earlierTime());
}

/** @param {number} timeUs */
export function goTo(timeUs) {
  pause();
  seeksFrom = null;
  standAt(timeUs);
}

/**
 * From where a violation is looked for, or null.
 *
 * @type {number | null}
 */
let seeksFrom = null;

/** Runs both until an invariant is violated in one of them. */
export function toNextViolation() {
  pause();
  seeksFrom = now();
  standAt(seeksFrom + SEEK_US);
}

/**
 * @param {Picture.ShownWorld[]} shown
 * @param {number} from
 */
function seek(shown, from) {
  const found = shown
    .flatMap((one) => one.invariants.flatMap(({ violations }) => (violations ?? []).map((each) => each.time_us)))
    .filter((at) => at > from);
  if (found.length === 0 && !isOver.peek()) return standAt(now() + SEEK_US);
  seeksFrom = null;
  return found.length > 0 ? standAt(Math.min(...found)) : undefined;
}

function tick() {
  const shown = both.peek();
  if (!shown) return;
  if (time.peek() === null) {
    if (shown.every((one) => one.busy === null)) standAt(startTime ?? Math.max(...shown.map((one) => one.time_us)));
    return;
  }
  const tickAt = performance.now();
  if (!isTogether.peek()) {
    if (shown.every((one) => one.busy === null) && tickAt - toldAt > ASK_AGAIN_MS) standAt(now());
    return;
  }
  if (seeksFrom !== null) return void seek(shown, seeksFrom);
  if (!playing.peek()) return;
  if (isOver.peek()) return void pause();
  const seconds = Math.min(TICK_MS_MOST, tickAt - lastTick) / 1000;
  lastTick = tickAt;
  const rate = speed.peek();
  const next = rate === "auto" ? autoStep(shown, seconds) : now() + seconds * 1_000_000 * rate;
  standAt(Math.max(now() + 1, next));
}

/** @type {number | null} */
let startTime = null;

/**
 * Lets time go.
 *
 * @param {number | null} startUs The time at which both begin; null: that of the later one.
 */
export function startTimeKeeper(startUs) {
  startTime = startUs;
  timer ||= setInterval(tick, TICK_MS);
  for (const one of views) one.subscribe(() => playing.peek() && tick());
}

/** What the buttons and the keys do, also those of a stage that has the focus. */
/** @type {Record<string, () => void>} */
export const ACTIONS = {
  play: togglePlay,
  step,
  back: stepBack,
  restart: () => goTo(0),
  last: () => goTo(Math.max(0, ...(both.peek() ?? []).map((one) => one.time_total_us))),
};
onKey((action) => ACTIONS[action]?.());
// Whatever was done: both go on from the moment that was looked at.
onCommand(() => (toldAt = performance.now()));
