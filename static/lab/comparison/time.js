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
export const time = signal(null);
export const playing = signal(false);
/** Virtual seconds per second, or "auto". */
export const speed = signal("auto");
/** Why time passes at "auto" as quickly as it does; nothing while it is stopped. */
export const pace = signal("");

export const duration = computed(() => (both.value ? Math.max(...both.value.map((one) => one.duration_us)) : 0));
export const isOver = computed(() => both.value !== null && both.value.every((one) => one.is_over && !one.in_past));
/** Whether both have arrived at the same virtual time. */
export const isTogether = computed(() => both.value !== null && both.value.every(hasArrived));
/** The time of the next event in either world. */
const nextTime = computed(() => {
  const due = (both.value ?? []).flatMap((one) => (one.next ? [one.next.due_us] : []));
  return due.length > 0 ? Math.min(...due) : null;
});

const hasArrived = (one) =>
  one.busy === null && (one.time_us === time.value || (one.is_over && !one.in_past && one.time_us <= time.value));

let toldAt = 0;

/** `anew`: a viewer begins to watch, so everything is new. */
export function standAt(timeUs, anew = false) {
  time.value = Math.round(Math.min(Math.max(timeUs, 0), duration.peek()));
  toldAt = performance.now();
  sendBoth({ kind: "control", action: "stand-at", values: { time_us: time.peek(), anew } });
}

/** Where both are after so many seconds of "auto". */
function autoStep(seconds) {
  const next = autoTime(
    both.peek().flatMap(({ ahead }) => (ahead ? [ahead] : [])),
    time.peek(),
    seconds,
  );
  pace.value = next.why;
  return next.time;
}

let timer = 0;
let lastTick = 0;

export function play() {
  if (time.peek() === null || isOver.peek()) return;
  playing.value = true;
  lastTick = performance.now();
  standAt(time.peek(), true);
}

export function pause() {
  playing.value = false;
  pace.value = "";
}
export const togglePlay = () => (playing.peek() ? pause() : play());

export function step() {
  pause();
  if (nextTime.peek() !== null) standAt(Math.max(nextTime.peek(), time.peek() + 1));
}

export async function stepBack() {
  pause();
  standAt(await earlierTime());
}

export function goTo(timeUs) {
  pause();
  seeksFrom = null;
  standAt(timeUs);
}

/** From where a violation is looked for, or null. */
let seeksFrom = null;

/** Runs both until an invariant is violated in one of them. */
export function toNextViolation() {
  pause();
  seeksFrom = time.peek();
  standAt(seeksFrom + SEEK_US);
}

function seek() {
  const found = both
    .peek()
    .flatMap((one) => one.invariants.flatMap(({ violations }) => violations.map((each) => each.time_us)))
    .filter((at) => at > seeksFrom);
  if (found.length === 0 && !isOver.peek()) return standAt(time.peek() + SEEK_US);
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
  const now = performance.now();
  if (!isTogether.peek()) {
    if (shown.every((one) => one.busy === null) && now - toldAt > ASK_AGAIN_MS) standAt(time.peek());
    return;
  }
  if (seeksFrom !== null) return void seek();
  if (!playing.peek()) return;
  if (isOver.peek()) return void pause();
  const seconds = Math.min(TICK_MS_MOST, now - lastTick) / 1000;
  lastTick = now;
  const next = speed.peek() === "auto" ? autoStep(seconds) : time.peek() + seconds * 1_000_000 * speed.peek();
  standAt(Math.max(time.peek() + 1, next));
}

let startTime = null;

/** Lets time go. `startUs`: the time at which both begin; null: that of the later one. */
export function startTimeKeeper(startUs) {
  startTime = startUs;
  timer ||= setInterval(tick, TICK_MS);
  for (const one of views) one.subscribe(() => playing.peek() && tick());
}

/** What the buttons and the keys do, also those of a stage that has the focus. */
export const ACTIONS = {
  play: togglePlay,
  step,
  back: stepBack,
  restart: () => goTo(0),
  last: () => goTo(Math.max(...both.peek().map((one) => one.time_total_us))),
};
onKey((action) => ACTIONS[action]?.());
// Whatever was done: both go on from the moment that was looked at.
onCommand(() => (toldAt = performance.now()));
