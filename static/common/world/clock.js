// @ts-check
// The virtual time that the picture shows. The server's view arrives at most twenty times a second; between two of
// them the picture moves on by itself, lagging by one interval, so that frames fly instead of jumping.

import { effect } from "@preact/signals";
import { motion } from "../viewer/motion.js";
import { Glide } from "./glide.js";
import { view } from "./view.js";

/** A step of the paused world is shown as a move of this length. */
const STEP_MS = 320;
/** Longest time over which one update of a playing world is spread. */
const UPDATE_MS_MOST = 160;

const glide = new Glide();
let lastUpdate = 0;
let wanted = 0;

/** Sixty pictures a second at most, however quick the screen is: the rest of the processor is the world's. */
const PAINT_EVERY_MS = 14;
let paintedAt = 0;

/** @typedef {(timeUs: number) => void} Painter */

/** @type {Set<Painter>} */
const painters = new Set();

/**
 * Calls a painter in every animation frame in which something moves. Returns how to stop.
 *
 * @param {Painter} paint
 */
export function onPaint(paint) {
  painters.add(paint);
  repaint();
  return () => painters.delete(paint);
}

/** The virtual time shown at this moment, microseconds. */
export const shownTime = (now = performance.now()) => glide.timeAt(now);

/**
 * Lets the picture's time run on to `timeUs` within `ms`, before the view of that time is there: frames that arrive
 * then fly to their end.
 *
 * @param {number} timeUs
 * @param {number} ms
 */
export function runAhead(timeUs, ms) {
  glide.start(performance.now(), timeUs, ms);
  repaint();
}

/** Asks for one more picture, for those who changed something else than the time. */
export function repaint() {
  if (!wanted) wanted = requestAnimationFrame(paintAll);
}

/** @param {number} now */
function paintAll(now) {
  wanted = 0;
  if (now - paintedAt < PAINT_EVERY_MS) return repaint();
  paintedAt = now;
  const time = shownTime(now);
  for (const paint of painters) paint(time);
  if (glide.isMoving(now)) repaint();
  return undefined;
}

effect(() => {
  const { time_us: time, playing } = view.value;
  const now = performance.now();
  if (time !== glide.target) {
    // Backwards (step back, scrub) and with motion off: at once.
    if (time < glide.timeAt(now) || !motion.peek()) glide.jump(now, time);
    else glide.start(now, time, playing ? Math.min(UPDATE_MS_MOST, Math.max(50, now - lastUpdate)) : STEP_MS);
  }
  lastUpdate = now;
  repaint();
});
