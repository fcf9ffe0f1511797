// @ts-check
// The jobs and the runs, as signals, and the ways to start and stop one.

import { computed, effect, signal } from "@preact/signals";
import { t } from "../common/i18n.js";
import { get, post } from "../common/request.js";
import { bilingual } from "../common/world/format.js";

/** What the server says about the jobs; null until it has, `failure` when it could not be asked. */
export const info = signal(/** @type {Picture.PipelineInfo | { failure: string } | null} */ (null));

/** The same for what is drawn only once it is known. */
export function knownInfo() {
  if (info.value === null || "failure" in info.value) throw new TypeError("the jobs are not known yet");
  return info.value;
}
const jobs = computed(() => (info.value && "jobs" in info.value ? info.value.jobs : []));

/** By id, and the ids, newest first. */
const runs = signal(/** @type {Picture.PipelineRuns} */ ({ runs: {}, order: [] }));
/** Runs that the stream brings in short, asked for one by one. */
const wholes = signal(/** @type {Record<string, Picture.WholeRun>} */ ({}));

/** What the address names: "#traffic" a job, "#run-1a2b" a run. */
const hash = signal(location.hash.slice(1));
addEventListener("hashchange", () => {
  // The link that skips the page's head names its main part, and chooses nothing.
  if (location.hash !== "#main") hash.value = location.hash.slice(1);
});
export const chosenRun = computed(() => (hash.value.startsWith("run-") ? hash.value.slice(4) : null));
export const chosenJob = computed(() => {
  const names = jobs.value.map((job) => job.name);
  return names.includes(hash.value) ? hash.value : chosenRun.value === null ? names[0] : null;
});

/** @param {string | null} name */
export const jobNamed = (name) => jobs.value.find((job) => job.name === name);
export const runList = computed(() => runs.value.order.map((id) => runs.value.runs[id]).filter(Boolean));
/** @param {Picture.PipelineRun} run */
export const isOver = (run) => ["ended", "failed", "stopped"].includes(run.phase);
export const runningCount = computed(() => runList.value.filter((run) => !isOver(run)).length);

/** Ids of runs whose button was pressed here: it goes, and the focus with it. */
export const wantsFocus = new Set();

/** @param {Picture.PipelineRuns} state */
export function receiveRuns(state) {
  runs.value = state;
}

/** @param {string | null} id */
export function runById(id) {
  if (id === null) return undefined;
  const run = runs.value.runs[id];
  return run?.is_whole ? run : (wholes.value[id] ?? run);
}

// A run that ended long ago is asked for when somebody looks at it.
effect(() => {
  const id = chosenRun.value;
  if (id === null) return;
  const run = runs.value.runs[id];
  if (run && !run.is_whole && !wholes.peek()[id]) loadRun(id);
});

/** @param {string} id */
async function loadRun(id) {
  const { answer: run } = await get(`/api/pipeline/runs/${encodeURIComponent(id)}`);
  if (run) wholes.value = { ...wholes.peek(), [id]: run };
}

export async function loadInfo() {
  const { answer, why = "" } = await get("/api/pipeline/jobs");
  info.value = answer ?? { failure: why };
}

/**
 * What went wrong, or null and the page shows the run.
 *
 * @param {string} job
 * @param {object} values
 * @param {object | null} keys
 * @returns {Promise<{ parameter: string | null, text: string } | null>}
 */
export async function start(job, values, keys) {
  const wanted = { job, arguments: values, ...(keys ? { keys } : {}) };
  const { answer, why = "", refusal } = await post("/api/pipeline/runs", wanted);
  if (!answer) return { parameter: refusal?.parameter ?? null, text: why };
  wantsFocus.add(answer.id);
  location.hash = `run-${answer.id}`;
  return null;
}

/** @param {string} id */
export async function stop(id) {
  wantsFocus.add(id);
  const { why } = await post(`/api/pipeline/runs/${encodeURIComponent(id)}/stop`, {});
  return why ?? null;
}

/**
 * What a screen reader says when it changes.
 *
 * @param {Picture.PipelineRun} [run]
 */
export function tellsOf(run) {
  return run ? `${bilingual(jobNamed(run.job)?.title) || run.job}: ${t(`pipeline.phase.${run.phase}`)}` : "";
}
