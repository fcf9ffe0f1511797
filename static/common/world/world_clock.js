// @ts-check
// The clock of a lab world, for parts that both worlds have: microseconds of virtual time.

import { computed } from "@preact/signals";
import { span, virtualTime } from "./format.js";
import { view } from "./view.js";

const nowUs = computed(() => view.value.time_us);

/** @type {Picture.Clock} */
export const worldClock = { now: () => nowUs.value, at: (us) => `${virtualTime(us)} s`, span };
