// The jobs and the runs, as signals, and the ways to start and stop one.

import { computed, effect, signal } from "@preact/signals";
import { sendRequest } from "../common/transport.js";
import { language, t } from "../common/i18n.js";

/** What the server says about the jobs; null until it has. {failure} when it could not be asked. */
export const info = signal(null);
/** id -> run, and the ids, newest first. */
const runs = signal({ runs: {}, order: [] });
/** Runs that the stream brings in short, asked for one by one. */
const wholes = signal({});

/** What the address names: "#traffic" a job, "#run-1a2b" a run. */
const hash = signal(location.hash.slice(1));
addEventListener("hashchange", () => {
  // The link that skips the page's head names its main part, and chooses nothing.
  if (location.hash !== "#main") hash.value = location.hash.slice(1);
});
export const chosenRun = computed(() => (hash.value.startsWith("run-") ? hash.value.slice(4) : null));
export const chosenJob = computed(() => {
  const names = (info.value?.jobs ?? []).map((job) => job.name);
  return names.includes(hash.value) ? hash.value : chosenRun.value === null ? names[0] : null;
});

export const jobNamed = (name) => info.value?.jobs.find((job) => job.name === name);
export const runList = computed(() => runs.value.order.map((id) => runs.value.runs[id]).filter(Boolean));
export const isOver = (run) => ["ended", "failed", "stopped"].includes(run.phase);
export const runningCount = computed(() => runList.value.filter((run) => !isOver(run)).length);

/** A text in both languages, in the page's. */
export const inLanguage = (text) => text?.[language] ?? text?.en ?? "";

/** Ids of runs whose button was pressed here: it goes, and the focus with it. */
export const wantsFocus = new Set();

export function receiveRuns(state) {
  runs.value = state;
}

export function runById(id) {
  const run = runs.value.runs[id];
  return run?.is_whole ? run : (wholes.value[id] ?? run);
}

// A run that ended long ago is asked for when somebody looks at it.
effect(() => {
  const id = chosenRun.value;
  const run = runs.value.runs[id];
  if (run && !run.is_whole && !wholes.peek()[id]) loadRun(id);
});

async function loadRun(id) {
  const run = await ask(`/api/pipeline/runs/${encodeURIComponent(id)}`);
  // A run that failed has an error of its own.
  if (run.id) wholes.value = { ...wholes.peek(), [id]: run };
}

export async function loadInfo() {
  const answer = await ask("/api/pipeline/jobs");
  info.value = answer.jobs ? answer : { failure: inLanguage(answer.text) || answer.error };
}

/** What went wrong ({parameter, text}), or null and the page shows the run. */
export async function start(job, values, keys) {
  const answer = await ask("/api/pipeline/runs", { job, arguments: values, ...(keys ? { keys } : {}) });
  if (!answer.id) return { parameter: answer.parameter ?? null, text: inLanguage(answer.text) || answer.error };
  wantsFocus.add(answer.id);
  location.hash = `run-${answer.id}`;
  return null;
}

export async function stop(id) {
  wantsFocus.add(id);
  const answer = await ask(`/api/pipeline/runs/${encodeURIComponent(id)}/stop`, {});
  return answer.id ? null : inLanguage(answer.text) || answer.error;
}

async function ask(address, body) {
  const options = body
    ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }
    : {};
  try {
    const response = await sendRequest(address, options);
    return await response.json();
  } catch {
    return { error: t("error.no_answer") };
  }
}

/** What a screen reader is told when it changes. */
export function tellsOf(run) {
  return run ? `${inLanguage(jobNamed(run.job)?.title) || run.job}: ${t(`pipeline.phase.${run.phase}`)}` : "";
}
