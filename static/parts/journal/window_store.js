// @ts-check
// What happened in the stretch of time that the sequence diagram shows. Mostly this page has seen it all; where it has
// not (a fast run, a second tab, a reload), the server is asked.

import { signal } from "@preact/signals";
import { FrameStore } from "../stage/frame_store.js";
import { run } from "../../common/world/session.js";
import { firstAtOrAfter } from "../../common/binary_search.js";
import { entryOf, indexAfter, journal, journalCut, view } from "../../common/world/view.js";

/** The minimum interval between two requests. */
const AGAIN_MS = 500;
/** Farther to both sides than is seen, as a share: moving on finds something there. */
const BESIDE = 0.5;

/** Frames that this page has seen, also those that the view does not show any more. */
export const frameStore = new FrameStore();
/** The same for calls of listeners: "event node" -> call. @type {Map<string, Picture.ListenerBar>} */
const calls = new Map();
/** @param {Picture.ListenerBar} call */
const callKey = ({ event, node }) => `${event} ${node}`;
const CALLS_KEPT = 400;
view.subscribe(({ frames, calls: seen }) => {
  frameStore.add(frames);
  for (const call of seen) calls.set(callKey(call), call);
  for (const key of calls.keys()) {
    if (calls.size <= CALLS_KEPT) break;
    calls.delete(key);
  }
});

/** Changes when an answer came. */
export const windowVersion = signal(0);

/**
 * The last answer.
 *
 * @type {{ left: number, right: number, event: number, entries: import("../../common/world/view.js").Entry[],
 *   frames: import("../stage/frame_store.js").FrameSeen[], calls: Map<string, Picture.ListenerBar> } | null}
 */
let fetched = null;
let timer = 0;
let askedAt = -AGAIN_MS;
/** @type {[left: number, right: number] | null} */
let request = null;

journalCut.subscribe(({ number }) => {
  fetched = null;
  for (const [key, call] of calls) if (call.event > number) calls.delete(key);
});

/** { entries, frames, isWhole } between two moments of virtual time, as well as they are known now.
    @param {number} left @param {number} right */
export function windowOf(left, right) {
  const { event } = view.peek();
  const frames = frameStore.between(left, right);
  const known = { entries: journal, frames, isWhole: true };
  if (right <= 0 || isWhole(left, right, event)) return known;
  if (!fetched || fetched.left > Math.max(0, left) || fetched.right < right || fetched.event < event) want(left, right);
  if (!fetched || fetched.left > right || fetched.right < left) return { ...known, isWhole: false };
  const byId = new Map([...fetched.frames, ...frames].map((frame, index) => [frame.id ?? `arrival ${index}`, frame]));
  return {
    entries: [...fetched.entries, ...journal.slice(indexAfter(fetched.entries.at(-1)?.number ?? 0))],
    frames: [...byId.values()],
    isWhole: fetched.left <= Math.max(0, left) && fetched.right >= right,
  };
}

/** Calls of listeners under way at some time between the two, as they were at the view's event: fetched ones may know
    more. Asked for each picture, so that only what is shown is copied.
    @param {number} left @param {number} right */
export function callsBetween(left, right) {
  const { event, time_us: now } = view.peek();
  /** @type {Picture.ListenerBar[]} */
  const found = [];
  /** @param {Picture.ListenerBar} call */
  const add = (call) => {
    if (call.event > event || call.since_us > right || (call.until_us ?? Infinity) < left) return;
    found.push(call.until_us !== null && call.until_us > now ? { ...call, until_us: null } : call);
  };
  for (const [key, call] of calls) add(call.until_us === null ? (fetched?.calls.get(key) ?? call) : call);
  for (const [key, call] of fetched?.calls ?? []) if (!calls.has(key)) add(call);
  return found;
}

/** Whether nothing is missing: numbers of entries and of frames follow each other without a gap, and reach the view's.
 *
 * @param {number} left @param {number} right @param {number} event
 */
function isWhole(left, right, event) {
  const first = firstAtOrAfter(journal, left);
  const end = Math.max(first, Math.min(firstAtOrAfter(journal, right), indexAfter(event)));
  const [before, behind] = [journal[first - 1]?.number ?? 0, journal[end]?.number ?? event + 1];
  return behind - before - 1 === end - first && frameStore.isWhole(left, right, view.peek().frames.at(-1)?.id ?? 0);
}

/** @param {number} left @param {number} right */
function want(left, right) {
  request = [left, right];
  timer ||= setTimeout(ask, Math.max(0, askedAt + AGAIN_MS - performance.now()));
}

async function ask() {
  if (request === null) return;
  const [left, right] = request;
  const beside = (right - left) * BESIDE;
  const range = { left: Math.max(0, Math.floor(left - beside)), right: Math.ceil(right + beside) };
  const cut = journalCut.peek();
  const { event } = view.peek();
  askedAt = performance.now();
  try {
    const answer = await run.window(range.left, range.right);
    if (cut === journalCut.peek())
      fetched = {
        ...range,
        event,
        entries: answer.entries.map(entryOf),
        frames: answer.frames,
        calls: new Map((answer.calls ?? []).map((/** @type {Picture.ListenerBar} */ call) => [callKey(call), call])),
      };
  } catch (error) {
    console.warn(`a stretch of time could not be fetched: ${error.message}`);
    fetched = { ...range, event, entries: [], frames: [], calls: new Map() };
  } finally {
    timer = 0;
    askedAt = performance.now();
    windowVersion.value += 1;
  }
}
