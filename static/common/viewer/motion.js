// @ts-check
// Whether anything on the page moves. Its styles read the attribute that this module sets.

import { computed, effect, signal } from "@preact/signals";
import { keep, kept } from "./kept.js";
import { paused } from "./paused.js";

const CHOICE = "glassmq.motion";

const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
const motionChoice = signal(kept(CHOICE)); // null: as the operating system says
const systemMotion = signal(!reducedMotion.matches);
reducedMotion.addEventListener("change", () => (systemMotion.value = !reducedMotion.matches));

/** Does anything move? Numbers and lengths always update. */
export const motion = computed(() => !paused.value && motionWanted.value);
export const motionWanted = computed(() =>
  motionChoice.value === null ? systemMotion.value : motionChoice.value === "on",
);

/** @param {boolean} on */
export function setMotion(on) {
  const chosen = on ? "on" : "off";
  motionChoice.value = chosen;
  keep(CHOICE, chosen);
}
effect(() => void (document.documentElement.dataset.motion = motion.value ? "on" : "off"));
