// @ts-check
// The state of the broker that the page shows. The stream writes `latest`; panels read `state`. While the view is
// paused `state` keeps still and the stream goes on.

import { signal } from "@preact/signals";
import { paused } from "../viewer/paused.js";
import { EMPTY_HISTORY, historyOf, withSecond } from "./history.js";

/** @type {any} */
const EMPTY_STATE = {
  cluster: {},
  connections: {},
  client_names: {},
  topics: {},
  groups: {},
  locks: {},
  transactions: null,
  delay_levels: null,
  replication: null,
  numbers: null,
  rates: {},
  log: [],
  commit_log: { min: 0, max: 0, flushed: 0, dispatched: 0, file_count: 0, records: [] },
  omitted: {},
  verdict: null,
  backlogs: {},
  events: [],
};

/** How many updates came in since the view was paused. */
export const missedUpdates = signal(0);
/** @type {import("@preact/signals").Signal<Picture.LivePicture>} */
export const state = signal(EMPTY_STATE);
export const history = signal(EMPTY_HISTORY);
/** False until the first snapshot: "nothing known yet" is not the same as "nothing there". */
export const loaded = signal(false);

/** Says so while another member of a group of brokers leads; else null. */
export const absent = signal(/** @type {Picture.AbsentBroker | null} */ (null));
/** @param {Picture.AbsentBroker} told */
export const beAbsent = (told) => (absent.value = told);

let latest = { state: EMPTY_STATE, history: EMPTY_HISTORY, isReal: false };

/**
 * @param {Partial<Picture.LivePicture>} next
 * @param {{ history?: import("./history.js").History }} extra
 */
export function receive(next, { history: sent }) {
  absent.value = null;
  const whole = { ...EMPTY_STATE, ...next };
  const before = sent ? historyOf(sent, (whole.cluster.started_us ?? 0) / 1000) : latest.history;
  latest = { state: whole, history: withSecond(before, whole.rates), isReal: true };
  if (paused.value) missedUpdates.value += 1;
  else show();
}

function show() {
  missedUpdates.value = 0;
  state.value = latest.state;
  history.value = latest.history;
  loaded.value = latest.isReal;
}

/** @param {boolean} value */
export function setPaused(value) {
  paused.value = value;
  if (!value) show();
}
