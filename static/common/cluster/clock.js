// @ts-check
// The clock of the live broker, for parts that both worlds have: microseconds since 1970.

import { computed, effect, signal } from "@preact/signals";
import { dateTime, span } from "../format.js";
import { paused } from "../viewer/paused.js";
import { state } from "./view.js";

const TICK_MS = 250;
const brokerSecondUs = computed(() => state.value.cluster.now_us);
const ticking = signal(Date.now());
setInterval(() => {
  if (!paused.value && !document.hidden) ticking.value = Date.now();
}, TICK_MS);

/** The broker's clock minus this machine's. The state carries full seconds, so it is measured when they change. */
let skewUs = 0;
effect(() => {
  const second = brokerSecondUs.value;
  if (second !== undefined) skewUs = second - Date.now() * 1000;
});

const nowUs = computed(() => ticking.value * 1000 + (brokerSecondUs.value === undefined ? 0 : skewUs));

/**
 * Four ticks a second; it stands still while the view is paused.
 *
 * @type {Picture.Clock}
 */
export const brokerClock = {
  now: () => nowUs.value,
  at: (us) => dateTime(us, true),
  span: (us) => span(us / 1000),
};
