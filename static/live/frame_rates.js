// @ts-check
// Frames per second of every connection, from the counters in the state: the difference over the last second or so.

import { effect, signal } from "@preact/signals";
import { state } from "../common/cluster/view.js";

const WINDOW_MS = 1000;

/** address -> { in, out } frames per second; entries keep their identity while they stay the same. */
export const frameRates = signal({});

/** Called with (address, framesIn, framesOut) for every connection that moved frames since the last state. */
const listeners = new Set();
export function onFrames(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const marks = new Map(); // address -> the counters at the start of the window
let before = {};

effect(() => {
  const { connections, cluster } = state.value;
  const nowMs = (cluster.now_us ?? 0) / 1000;
  const known = frameRates.peek();
  const rates = {};
  for (const [address, now] of Object.entries(connections)) {
    const old = before[address];
    if (old && (now.frames_in > old.frames_in || now.frames_out > old.frames_out)) {
      for (const listener of listeners)
        listener(address, now.frames_in - old.frames_in, now.frames_out - old.frames_out);
    }
    rates[address] = rateOf(address, now, nowMs, known[address]);
  }
  for (const address of marks.keys()) if (!(address in connections)) marks.delete(address);
  before = connections;
  frameRates.value = rates;
});

function rateOf(address, now, nowMs, known = { in: 0, out: 0 }) {
  const start = marks.get(address) ?? { at: nowMs, in: now.frames_in, out: now.frames_out };
  marks.set(address, start);
  const passed = nowMs - start.at;
  if (passed < WINDOW_MS) return known;
  marks.set(address, { at: nowMs, in: now.frames_in, out: now.frames_out });
  const rate = {
    in: Math.round(((now.frames_in - start.in) * 1000) / passed),
    out: Math.round(((now.frames_out - start.out) * 1000) / passed),
  };
  return rate.in === known.in && rate.out === known.out ? known : rate;
}
