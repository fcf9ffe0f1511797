// The virtual time that the picture shows. The server's view arrives at most twenty times a second; between two of
// them the picture moves on by itself, lagging by one interval, so that frames fly instead of jumping.

import { effect } from "@preact/signals";
import { motion } from "../cluster/view.js";
import { view } from "./view.js";

/** A step of the paused world is shown as a move of this length. */
const STEP_MS = 320;
/** Longest time over which one update of a playing world is spread. */
const UPDATE_MS_MOST = 160;

let from = { time: 0, at: 0 };
let target = 0;
let lengthMs = 1;
let lastUpdate = 0;
let wanted = 0;

/** Sixty pictures a second at most, however quick the screen is: the rest of the processor is the world's. */
const PAINT_EVERY_MS = 14;
let paintedAt = 0;

const painters = new Set();

/** Calls `paint(timeUs)` in every animation frame in which something moves. Returns how to stop. */
export function onPaint(paint) {
  painters.add(paint);
  repaint();
  return () => painters.delete(paint);
}

/** The virtual time shown at this moment, microseconds. */
export function shownTime(now = performance.now()) {
  const share = Math.min(1, (now - from.at) / lengthMs);
  return from.time + (target - from.time) * share;
}

/** Lets the picture's time run on to `timeUs` within `ms`, before the view of that time is there: frames that arrive
    then fly to their end. */
export function runAhead(timeUs, ms) {
  const now = performance.now();
  from = { time: shownTime(now), at: now };
  target = timeUs;
  lengthMs = ms;
  repaint();
}

/** Asks for one more picture, for those who changed something else than the time. */
export function repaint() {
  if (!wanted) wanted = requestAnimationFrame(paintAll);
}

function paintAll(now) {
  wanted = 0;
  if (now - paintedAt < PAINT_EVERY_MS) return repaint();
  paintedAt = now;
  const time = shownTime(now);
  for (const paint of painters) paint(time);
  if (now - from.at < lengthMs) repaint();
  return undefined;
}

effect(() => {
  const { time_us: time, playing } = view.value;
  const now = performance.now();
  if (time !== target) {
    const shown = shownTime(now);
    // Backwards (step back, scrub) and with motion off: at once.
    const isJump = time < shown || !motion.peek();
    from = { time: isJump ? time : shown, at: now };
    lengthMs = isJump ? 1 : playing ? Math.min(UPDATE_MS_MOST, Math.max(50, now - lastUpdate)) : STEP_MS;
    target = time;
  }
  lastUpdate = now;
  repaint();
});
