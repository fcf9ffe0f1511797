// @ts-check
// Which part of time the sequence diagram shows: the last few frames, however long ago they flew.

import { signal } from "@preact/signals";
import { isFrameRelevant, onlyRelevant } from "../../common/world/relevance.js";
import { callsBetween, windowOf } from "../journal/window_store.js";
import { axisOf } from "./sequence_axis.js";

const COUNTS = [6, 10, 20, 40, 80, 160];
/** Where the search for the last frames begins, and how often it looks twice as far back. */
const FIRST_SPAN_US = 250_000;
const STEPS_MOST = 14;

/** How many frames are shown, as an index; a stretch that must be seen whole (a lesson's), µs; and the end, or null:
    now. */
const zoomed = signal(2);
const leastUs = signal(0);
export const endsAt = signal(null);

export const shownFrames = () => COUNTS[zoomed.value];

export function zoom(by) {
  leastUs.value = 0;
  zoomed.value = Math.min(COUNTS.length - 1, Math.max(0, zoomed.peek() + by));
}

/** Shows at least the last `us`, if that is not too much to be seen. */
export function fitSpan(us) {
  leastUs.value = us;
  endsAt.value = null;
}

/** What is to be drawn at `time`: { left, right, entries, frames, calls, flightUs, points }. `more`: of further moments
    that need a place on the axis, those between the two ends. */
export function windowAt(time, more) {
  const end = Math.min(time, endsAt.peek() ?? time);
  const found = lastFrames(end, COUNTS[zoomed.peek()]);
  const flights = found.chosen.map((frame) => frame.arrives_us - frame.sent_us).filter((us) => us > 0);
  const flightUs = flights.sort((a, b) => a - b)[flights.length >> 1] ?? 1000;
  const left = Math.max(0, Math.min(found.chosen[0]?.sent_us ?? end - FIRST_SPAN_US, end - leastUs.peek()));
  // What flies at the end is drawn up to where it will arrive.
  const right = Math.max(end, ...found.chosen.map((frame) => frame.arrives_us ?? 0), left + flightUs);
  const frames = found.frames.filter((frame) => frame.sent_us <= right && (frame.arrives_us ?? Infinity) >= left);
  const calls = callsBetween(left, right);
  const moments = new Set();
  const add = (us) => us >= left && us <= right && moments.add(us);
  [left, right, end, ...more].forEach(add);
  for (const frame of frames) (add(frame.sent_us), add(frame.arrives_us));
  for (const call of calls) (add(call.since_us), add(call.until_us));
  return { left, right, entries: found.entries, frames, calls, flightUs, points: axisOf(moments, flightUs) };
}

/** Frames up to `end`, of which the last `count` that matter are chosen; as far back as they are known. */
let foundSpan = FIRST_SPAN_US;

function lastFrames(end, count) {
  let span = Math.max(FIRST_SPAN_US, foundSpan / 4, leastUs.peek());
  for (let step = 0; ; step += 1) {
    const { entries, frames, isWhole } = windowOf(Math.max(0, end - span), end);
    const fit = shownOf(frames, (frame) => frame.sent_us <= end && frame.source !== frame.target);
    if (fit.length >= count || span >= end || !isWhole || step >= STEPS_MOST) {
      foundSpan = span;
      return { entries, frames: fit, chosen: fit.slice(-count) };
    }
    span *= 2;
  }
}

const shownOf = (frames, isMeant) =>
  frames
    .filter((frame) => isMeant(frame) && (!onlyRelevant.peek() || isFrameRelevant(frame)))
    .sort((a, b) => a.sent_us - b.sent_us);

/** The moment half a window before or after what is shown; null: the present. */
export function pan(by, time) {
  const { frames, right } = windowAt(time, []);
  const half = Math.max(1, COUNTS[zoomed.peek()] >> 1);
  if (by < 0) {
    const shown = frames.slice(-COUNTS[zoomed.peek()]);
    endsAt.value = shown[Math.max(0, shown.length - 1 - half)]?.sent_us ?? endsAt.peek();
    return;
  }
  const behind = shownOf(windowOf(right, time).frames, (frame) => frame.sent_us > right && frame.sent_us <= time);
  endsAt.value = behind.length > half ? behind[half].sent_us : null;
}
