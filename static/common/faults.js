// The active faults of the running engine, as /api/faults reports them: polled slowly on every page, more often
// while something is about to run out.

import { computed, signal } from "@preact/signals";
import { request } from "./request.js";
import { sendRequest } from "./transport.js";

const GENTLE_MS = 5000;
const BRISK_MS = 1000;
/** A pause begins, and ends, a moment after it was asked for. */
const SETTLED_MS = 200;

const ALL = "all";
const NOTHING = {
  is_active: false,
  rules: [],
  hits: [],
  held: [],
  held_count: 0,
  delayed_count: 0,
  broken: {},
  lease_ms: 0,
  clock_ahead_ms: 0,
  at: 0,
};

/** The last answer; `at`: when it came, as performance.now() reports it. */
export const faults = signal(NOTHING);
/** Why the last action was refused, or "". */
export const refusal = signal("");
/** The held frame that was gone last although nobody here has decided it, or null. */
export const lost = signal(null);

const lives = (rule) => !rule.is_spent;
export const activeRules = computed(() => faults.value.rules.filter(lives));
/** Whether frames are held, or will be. */
export const isHolding = computed(
  () => faults.value.held_count > 0 || activeRules.value.some(({ what }) => what === "hold"),
);

let next;
/** Asks now, and from then on again and again. */
export async function look() {
  clearTimeout(next);
  if (!document.hidden) {
    try {
      const response = await sendRequest("/api/faults");
      if (response.ok) take(await response.json());
    } catch {
      // The server is away: the next poll finds it, or not.
    }
  }
  clearTimeout(next);
  next = setTimeout(look, isHolding.value || faults.value.paused_ms > 0 ? BRISK_MS : GENTLE_MS);
}
document.addEventListener("visibilitychange", () => !document.hidden && look());

/** While the engine is paused it reports only that: what it reported before still holds. `decided`: the held frame
 * that this
    answer is about, or all of them. */
function take(answer, decided) {
  if (answer.held) {
    const waits = (frame) => frame.id === decided || answer.held.some(({ id }) => id === frame.id);
    const gone = decided === ALL ? null : faults.value.held.findLast((frame) => !waits(frame));
    if (gone || decided !== undefined) lost.value = gone ?? null;
  }
  faults.value = { ...faults.value, paused_ms: 0, ...answer, at: performance.now() };
}

/** Changes the faults. Returns whether that was done. */
async function change(method, path, body, decided = undefined) {
  const { answer, why = "" } = await request(method, `/api/faults${path}`, body);
  refusal.value = why;
  if (answer) take(answer, decided);
  clearTimeout(next);
  next = setTimeout(look, SETTLED_MS);
  return Boolean(answer);
}

/** A command of LIVE_COMMANDS in app/live/fault_service.py, or `resume`. */
export const command = (kind, target, values = {}) => change("POST", "", { kind, target, ...values });
export const removeAll = () => change("DELETE", "", undefined, ALL);
export const removeRule = (id) => change("DELETE", `/${id}`);
/** Somebody looks at the held frames: they wait longer. */
export async function renewLease() {
  const { answer } = await request("POST", "/api/faults/look", {});
  if (answer) take(answer);
}
export const passAll = () => change("POST", "/held", { action: "pass" }, ALL);
/** `changes`: { fields, properties, body }, each may be missing. */
export const letPass = (id, changes = {}) => change("POST", `/held/${id}`, { action: "pass", ...changes }, id);
export const dropHeld = (id) => change("POST", `/held/${id}`, { action: "drop" }, id);
/** Records the frames of these clients (a pattern; "": all), until it is stopped. */
export const record = (client, bodies) => change("POST", "/record", { client, bodies });
export const stopRecording = () => change("DELETE", "/record");
