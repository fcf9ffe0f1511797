// @ts-check
// What an action did happens in an instant; this shows it again, slowly enough to be watched.
//
// The world stays where it is: only the view goes back and comes forward again, as with the scrub bar. Between two
// pictures virtual time runs on in the drawing, so that frames are seen to fly before their arrival shows.

import { signal } from "@preact/signals";
import { motion } from "../common/viewer/motion.js";
import { runAhead } from "../common/world/clock.js";
import { fitSpan } from "../parts/stage/sequence_window.js";
import { framesUnderWay, indexAfter, journal, view } from "../common/world/view.js";
import { momentsOf } from "./moments.js";
import { lookAt } from "./world.js";

const MOST_PICTURES = 36;
/** How long the whole takes at most, and how long one picture stays at most. */
const WHOLE_MS = 9000;
const PICTURE_MS = 520;
/** The part of a picture's time in which frames fly on to the next one. */
const FLIGHT_SHARE = 0.7;
/** What the sequence diagram shows meanwhile; afterwards it shows all that happened. */
const SPAN_US = 1_000_000;
/** A picture that takes longer than this is left out. */
const PICTURE_WAIT_MS = 600;

/** The number of the picture and of how many, while it runs; or null. */
export const replaying = signal(/** @type {{ at: number, of: number } | null} */ (null));
let isStopped = false;

/**
 * Shows events again; where motion is off only when a user asks for it, and then nothing flies. Resolves when the
 * present is shown again.
 *
 * @param {number} from The event before the first one.
 * @param {number} to
 * @param {boolean} isAsked Whether a user asks for it.
 */
export async function replay(from, to, isAsked) {
  if ((!motion.peek() && !isAsked) || replaying.peek()) return;
  const pictures = picturesBetween(from, to);
  if (pictures.length < 2) return;
  fitSpan(Math.min(SPAN_US, spanOf(pictures)));
  isStopped = false;
  const each = Math.min(PICTURE_MS, WHOLE_MS / pictures.length);
  for (const [at, { number, time }] of pictures.entries()) {
    if (isStopped) break;
    replaying.value = { at, of: pictures.length };
    if (at > 0) await flyTo(time, each * FLIGHT_SHARE);
    lookAt(number);
    await Promise.all([rest(each * (1 - FLIGHT_SHARE)), shown(number)]);
    if (view.peek().playing) isStopped = true;
  }
  fitSpan(spanOf(pictures));
  replaying.value = null;
  if (view.peek().in_past) lookAt(to);
}

const spanOf = (pictures) => pictures.at(-1).time - pictures[0].time;

export const stopReplay = () => (isStopped = true);

/** Where nothing is under way there is nothing to wait for. */
async function flyTo(time, ms) {
  if (!motion.peek() || time < view.peek().time_us || framesUnderWay(view.peek()).length === 0) return;
  runAhead(time, ms);
  await rest(ms);
}

function picturesBetween(from, to) {
  const commanded = new Set(view.peek().commands.map(({ event }) => Number(event) + 1));
  return momentsOf(journal.slice(indexAfter(from), indexAfter(to)), commanded, MOST_PICTURES);
}

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @param {number} event
 * @returns {Promise<void>}
 */
function shown(event) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PICTURE_WAIT_MS);
    const stop = view.subscribe((now) => {
      if (now.event !== event) return;
      clearTimeout(timer);
      resolve();
      queueMicrotask(() => stop());
    });
  });
}
