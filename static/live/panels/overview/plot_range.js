// @ts-check
// Which time the plots show: one range for all of them, or a stretch that was marked in one of them. The last five
// minutes come with the stream; whatever is longer or older is asked of the server when it is looked at.

import { computed, effect, signal, untracked } from "@preact/signals";
import { sendRequest } from "../../../common/transport.js";
import { brokerClock } from "../../../common/cluster/clock.js";
import { choice } from "../../../common/viewer/choices.js";
import { paused } from "../../../common/viewer/paused.js";
import { history, state } from "../../../common/cluster/view.js";

/** Name -> seconds. */
export const RANGES = { "5m": 300, "1h": 3600, "6h": 6 * 3600, "24h": 24 * 3600 };
const LIVE = "5m";
/** A stretch shorter than this was a click. */
const LEAST_SECONDS = 4;
/** The minimum interval between requests for a range; coarser ones when they have a new point. */
const AGAIN_MS = 10_000;

const kept = choice("plot-range", LIVE);
export const range = computed(() => (kept.value in RANGES ? kept.value : LIVE));
/** In seconds since 1970, or null: the range, up to now. */
export const zoom = signal(/** @type {{ from: number, to: number } | null} */ (null));
/** Why there is no answer of the server, or "". */
export const problem = signal("");

export function chooseRange(name) {
  zoom.value = null;
  kept.value = name;
}

/** Nothing, or no less than the range: the range again. @param {{ from: number, to: number } | null} stretch */
export function zoomTo(stretch) {
  if (stretch === null || stretch.to - stretch.from >= RANGES[range.value]) zoom.value = null;
  else if (stretch.to - stretch.from >= LEAST_SECONDS)
    zoom.value = { from: Math.floor(stretch.from), to: Math.ceil(stretch.to) };
}

const isLive = computed(() => zoom.value === null && range.value === LIVE);
/** @typedef {Omit<Picture.History, "begin_us"> & { seconds: number[] }} Stretch */
const answer = signal(/** @type {Stretch | null} */ (null));

/** They stay the same while other parts of the state change. */
const events = computed(() => state.value.events);

/**
 * What came with the stream, in the server's shape: of one second the lowest is the highest.
 * @returns {Stretch}
 */
const recentOf = () => {
  const { seconds, ...columns } = history.value;
  const last = seconds.slice(-RANGES[LIVE]);
  const measures = Object.entries(columns).map(([name, values]) => {
    const column = values.slice(-RANGES[LIVE]);
    return [name, { min: column, max: column, mean: column }];
  });
  return { resolution_s: 1, seconds: last, measures: Object.fromEntries(measures), events: events.value };
};
const recent = computed(recentOf);

/** What the plots draw. */
export const shown = computed(() => (isLive.value ? recent.value : (answer.value ?? recent.value)));

async function ask(window) {
  const { from, to } = window();
  const response = await sendRequest(`/api/live/history?from=${from}&to=${to}`);
  const sent = await response.json();
  if (!response.ok) throw new Error(sent.error);
  return { ...sent, seconds: sent.begin_us.map((us) => us / 1e6) };
}

effect(() => {
  problem.value = "";
  if (isLive.value) return undefined;
  const marked = zoom.value;
  const seconds = RANGES[range.value];
  const now = () => Math.floor(untracked(brokerClock.now) / 1_000_000);
  const window = () => marked ?? { from: Math.max(0, now() - seconds), to: now() };
  let isOver = false;
  let timer;
  const look = async () => {
    try {
      const told = await ask(window);
      if (!isOver) [answer.value, problem.value] = [told, ""];
    } catch (error) {
      if (!isOver) problem.value = error.message;
    }
    if (isOver || marked) return; // what was marked lies in the past
    timer = setTimeout(again, Math.max(AGAIN_MS, 1000 * (answer.peek()?.resolution_s ?? 0)));
  };
  const again = () => (paused.peek() || document.hidden ? (timer = setTimeout(again, AGAIN_MS)) : look());
  look();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
});
