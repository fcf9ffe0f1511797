// How a backlog goes on, from how many messages were stored and how many were read in the last minute.

import { effect } from "@preact/signals";
import { state } from "./view.js";

/** With less to look back on nobody can tell. */
const LEAST_MS = 6_000;
/** A group commits a few seconds late: what it reads in this time is on its way, and no backlog. */
const ON_ITS_WAY_MS = 10_000;
/** Reading and storing that differ by less keep the backlog as it is. */
const STEADY = 0.02;

/**
 * What becomes of `lag` messages when so many were `stored` and `read` in the last `passedMs`:
 * { kind: "done" | "keeps_up" | "gone" (in `ms`) | "steady" | "growing" | "unread" | "standing" | "unknown" }.
 */
export function forecast({ lag, stored, read, passedMs }) {
  if (lag <= 0) return { kind: "done" };
  if (passedMs < LEAST_MS || stored < 0 || read < 0) return { kind: "unknown" };
  if (read === 0) return { kind: stored > 0 ? "unread" : "standing" };
  if (lag * passedMs <= read * ON_ITS_WAY_MS) return { kind: "keeps_up" };
  const gained = read - stored;
  if (Math.abs(gained) <= STEADY * read) return { kind: "steady" };
  return gained < 0 ? { kind: "growing" } : { kind: "gone", ms: (lag * passedMs) / gained };
}

/** What was known so long ago, newest last. States share what did not change, so that these cost little. */
const SAMPLE_MS = 2_000;
const WINDOW_MS = 60_000;
let samples = [];

effect(() => {
  const { cluster, topics } = state.value;
  const atMs = cluster.now_ms;
  const last = samples.at(-1);
  if (atMs === undefined || atMs - last?.atMs < SAMPLE_MS) return;
  if (last?.startedMs !== cluster.started_ms || atMs - last.atMs > WINDOW_MS) samples = [];
  samples.push({ atMs, startedMs: cluster.started_ms, topics });
  if (samples[1] && atMs - samples[1].atMs >= WINDOW_MS) samples.shift();
});

/** Where `group` stands, and where the ends are, over the queues of these `names` on which it has committed. */
function progressOf(topics, names, group) {
  let [stored, read] = [0, 0];
  for (const name of names) {
    for (const queue of Object.values(topics[name]?.queues ?? {})) {
      const committed = queue.committed?.[group];
      if (committed === undefined) continue;
      stored += queue.max;
      read += committed;
    }
  }
  return { stored, read };
}

/** The forecast of a group on these topics, as long as the page has watched. Call it where signals are tracked. */
export function forecastOf(group, names, lag) {
  const { topics, cluster } = state.value;
  const first = samples[0] ?? { atMs: cluster.now_ms, topics };
  const [before, now] = [first.topics, topics].map((then) => progressOf(then, names, group));
  return forecast({
    lag,
    stored: now.stored - before.stored,
    read: now.read - before.read,
    passedMs: (cluster.now_ms ?? 0) - (first.atMs ?? 0),
  });
}
