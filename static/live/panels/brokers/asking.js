// @ts-check
// Asks the server what all brokers report, every two seconds and only while the tab is open: the server asks the
// brokers because of it, once for all pages. Also keeps their rates of the last minutes.

import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { request } from "../../../common/request.js";
import { paused } from "../../../common/viewer/paused.js";

const AGAIN_MS = 2000;
/** Ten minutes of samples. */
const SAMPLES_MAX = 300;

/** null: not asked yet. */
export const report = signal(/** @type {Picture.BrokersReport | null} */ (null));
export const problem = signal("");

/** @typedef {{ second: number, rates: Record<string, [incoming: number, outgoing: number]> }} Sample By address. */
export const samples = signal(/** @type {Sample[]} */ ([]));

let isAsking = false;

async function ask() {
  if (isAsking || document.hidden || paused.peek()) return;
  isAsking = true;
  const { answer, why = "" } = await request("GET", "/api/live/brokers");
  isAsking = false;
  problem.value = why;
  if (!answer) return;
  report.value = answer;
  const second = Math.round(answer.now_us / 1e6);
  if (second > (samples.value.at(-1)?.second ?? 0))
    samples.value = [...samples.value, { second, rates: ratesOf(answer) }].slice(-SAMPLES_MAX);
}

/** Those of the brokers that answer. @param {Picture.BrokersReport} answer @returns {Sample["rates"]} */
function ratesOf({ brokers }) {
  const rates = brokers.flatMap(({ address, state, facts }) =>
    facts && state === "answers" ? [[address, [facts.in_rate, facts.out_rate]]] : [],
  );
  return Object.fromEntries(rates);
}

/** Asks while the component that calls this is on the page. */
export function useAsking() {
  useEffect(() => {
    ask();
    const timer = setInterval(ask, AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
}
