// @ts-check
// The active faults of the running engine, as /api/faults reports them: polled slowly on every page, more often
// while something is about to run out.

import { computed, signal } from "@preact/signals";
import { request } from "./request.js";

const GENTLE_MS = 5000;
const BRISK_MS = 1000;
/** A pause begins, and ends, a moment after it was asked for. */
const SETTLED_MS = 200;

const ALL = "all";
/**
 * What the server answers, and when that came, as performance.now() reports it; of a paused engine how much longer it
 * is paused. Some is missing before the first answer.
 *
 * @typedef {"now_us" | "broker" | "broker_crashed_us" | "recording"} Missing
 * @typedef {Omit<Picture.ActiveFaults, Missing> & Partial<Picture.ActiveFaults> &
 *   { paused_ms: number, at: number }} Faults
 */

/** @type {Faults} */
const NOTHING = {
  is_active: false,
  rules: [],
  hits: [],
  held: [],
  held_count: 0,
  delayed_count: 0,
  broken: {
    broker_crashed: false,
    name_server_crashed: false,
    disk_full: false,
    flush_ms: 0,
    flushes_fail: false,
    broker_lock_off: false,
    groups_off: [],
  },
  lease_ms: 0,
  clock_ahead_ms: 0,
  paused_ms: 0,
  at: 0,
};

/** The last answer. */
export const faults = signal(NOTHING);
/** Why the last action was refused, or "". */
export const refusal = signal("");
/** The held frame that was gone last although nobody here has decided it, or null. */
export const lost = signal(/** @type {Picture.HeldFrame | null} */ (null));

/** @param {Picture.LiveFaultRule} rule */
const lives = (rule) => !rule.is_spent;
export const activeRules = computed(() => faults.value.rules.filter(lives));
/** Whether frames are held, or will be. */
export const isHolding = computed(
  () => faults.value.held_count > 0 || activeRules.value.some(({ what }) => what === "hold"),
);

/** @type {ReturnType<typeof setTimeout> | undefined} */
let next;
/** Asks now, and from then on again and again. */
export async function look() {
  clearTimeout(next);
  if (!document.hidden) {
    const { answer } = await request("GET", "/api/faults");
    if (answer) take(answer);
  }
  clearTimeout(next);
  next = setTimeout(look, isHolding.value || faults.value.paused_ms > 0 ? BRISK_MS : GENTLE_MS);
}
document.addEventListener("visibilitychange", () => !document.hidden && look());

/**
 * While the engine is paused it reports only that: what it reported before still holds.
 *
 * @param {Partial<Faults>} answer
 * @param {number | "all"} [decided] The held frame that this answer is about, or all of them.
 */
function take(answer, decided) {
  const { held } = answer;
  if (held) {
    /** @param {Picture.HeldFrame} frame */
    const waits = (frame) => frame.id === decided || held.some(({ id }) => id === frame.id);
    const gone = decided === ALL ? null : faults.value.held.findLast((frame) => !waits(frame));
    if (gone || decided !== undefined) lost.value = gone ?? null;
  }
  faults.value = { ...faults.value, paused_ms: 0, ...answer, at: performance.now() };
}

/**
 * Changes the faults. Returns whether that was done.
 *
 * @param {string} method
 * @param {string} path Below /api/faults.
 * @param {object} [body]
 * @param {number | "all"} [decided] See `take`.
 */
async function change(method, path, body, decided) {
  const { answer, why = "" } = await request(method, `/api/faults${path}`, body);
  refusal.value = why;
  if (answer) take(answer, decided);
  clearTimeout(next);
  next = setTimeout(look, SETTLED_MS);
  return Boolean(answer);
}

/**
 * A command of LIVE_COMMANDS in app/live/fault_service.py, or `resume`.
 *
 * @param {string} kind
 * @param {string} [target]
 * @param {object} values
 */
export const command = (kind, target, values = {}) => change("POST", "", { kind, target, ...values });
export const removeAll = () => change("DELETE", "", undefined, ALL);
/** @param {number} id */
export const removeRule = (id) => change("DELETE", `/${id}`);
/** Somebody looks at the held frames: they wait longer. */
export async function renewLease() {
  const { answer } = await request("POST", "/api/faults/look", {});
  if (answer) take(answer);
}
export const passAll = () => change("POST", "/held", { action: "pass" }, ALL);
/**
 * @param {number} id
 * @param {{ fields?: Record<string, string>, properties?: Record<string, string>, body?: string }} changes
 */
export const letPass = (id, changes = {}) => change("POST", `/held/${id}`, { action: "pass", ...changes }, id);
/** @param {number} id */
export const dropHeld = (id) => change("POST", `/held/${id}`, { action: "drop" }, id);
/**
 * Records the frames of these clients, until it is stopped.
 *
 * @param {string} client A pattern; "": all.
 * @param {boolean} bodies
 */
export const record = (client, bodies) => change("POST", "/record", { client, bodies });
export const stopRecording = () => change("DELETE", "/record");
