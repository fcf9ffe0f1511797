// @ts-check
// How far a run has come, from its first second on and in words: which step it is at, how long each took, and while it
// reads how much, how fast and how long still, as far as the job says it.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { compact, count, dateTime, span } from "../common/format.js";
import { t } from "../common/i18n.js";
import { isOver } from "./runs.js";

const STEPS = ["java", "plan", "read"];
/** What jobs count; tasks are Spark's own, of the stage at work. */
const UNITS = ["messages", "tasks", "seeds", "schedules", "rows", "files", "batches"];
/** Before so much time the speed says little. */
const LEAST_US = 1_000_000;

/** @type {(props: { run: Picture.ShownRun }) => any} */
export function RunProgress({ run }) {
  const now = useNow(isOver(run));
  const over = isOver(run);
  const ends = run.ended_us ?? Math.max(now, run.started_us);
  const at = stepOf(run);
  /** @param {number} step */
  const took = (step) => {
    if (step === 0) return (run.running_us ?? ends) - run.started_us;
    return run.running_us && (step === at || (over && step === STEPS.length - 1)) ? ends - run.running_us : null;
  };
  return html`<div class="run-progress" title=${dateTime(run.started_us)}>
    <ol class="run-steps" role="list">
      ${STEPS.map((step, index) => {
        const state =
          index < at || (over && run.phase === "ended") ? "done" : index > at ? "ahead" : over ? "left" : "now";
        const passed = state === "ahead" ? null : took(index);
        return html`<li key=${step} class=${`run-step is-${state}`} aria-current=${state === "now" ? "step" : null}>
          <span class="step-sign" aria-hidden="true"></span>
          <span>${t(`pipeline.step.${step}`)}</span>
          <span class="number quiet">${passed !== null && span(passed / 1000)}</span>
        </li>`;
      })}
    </ol>
    <p class="run-said">${said(run)}</p>
    ${run.is_whole && html`<${Done} run=${run} now=${ends} />`}
  </div>`;
}

/**
 * 0: its process and Java come up; 1: Spark is there, and nothing is read yet; 2: it reads.
 *
 * @param {Picture.ShownRun} run
 */
function stepOf(run) {
  if (!run.running_us) return 0;
  const hasRead = run.batch_count > 0 || (run.is_whole && Object.keys(run.progress).length > 0);
  return hasRead || run.phase === "ended" ? 2 : 1;
}

/** @param {Picture.ShownRun} run */
function said(run) {
  if (run.phase === "stopping") return t("pipeline.stopping_hint");
  if (isOver(run)) return null;
  return [t("pipeline.starting_hint"), t("pipeline.waiting_hint"), null][stepOf(run)];
}

/** The job's own count where it has one, else that of Spark's tasks. */
/** @type {(props: { run: Picture.WholeRun, now: number }) => any} */
function Done({ run, now }) {
  const units = Object.keys(run.progress);
  const unit = units.find((one) => one !== "tasks") ?? units[0];
  // Tasks are those of the stage at work: when the run is over they say nothing.
  if (unit === undefined || (unit === "tasks" && isOver(run))) return null;
  const { done, total } = run.progress[unit];
  const name = UNITS.includes(unit) ? t(`pipeline.unit.${unit}`) : unit;
  const share = total ? Math.min(1, done / total) : 0;
  const text = total ? t("pipeline.progress", { done: count(done), total: count(total), unit: name }) : null;
  return html`<div class="run-done">
    ${total && html`<progress max="1" value=${share} aria-label=${text}></progress>`}
    <span class="number">
      <strong>${total ? `${Math.floor(share * 100)} %` : count(done)}</strong> ${total ? `· ${text}` : name}
      ${unit !== "tasks" && speed(run, done, total, now)}
    </span>
  </div>`;
}

/**
 * " · 1.2 k/s · about 8 s left": from what is done since Spark was there.
 *
 * @param {Picture.ShownRun} run
 * @param {number} done
 * @param {number | null} total
 * @param {number} now
 */
function speed(run, done, total, now) {
  const took = now - (run.running_us ?? now);
  if (took < LEAST_US || done === 0) return null;
  const rate = t("unit.rate", { n: compact(Math.round((1e6 * done) / took)) });
  const left =
    total && !isOver(run) ? t("word.time_left", { time: span(((total - done) * took) / done / 1000) }) : null;
  return [rate, left]
    .filter(Boolean)
    .map((part) => ` · ${part}`)
    .join("");
}

/** A clock of the page's own, which stands when the run is over: the server sends none.
    @param {boolean} isStill */
function useNow(isStill) {
  const now = useSignal(Date.now() * 1000);
  useEffect(() => {
    if (isStill) return undefined;
    const timer = setInterval(() => (now.value = Date.now() * 1000), 1000);
    return () => clearInterval(timer);
  }, [isStill]);
  return now.value;
}
