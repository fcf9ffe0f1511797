// @ts-check
// The clock of a lab world, for parts that both worlds have: microseconds of virtual time.

import { span, virtualTime } from "./format.js";
import { view } from "./view.js";

/** @type {Picture.Clock} */
export const worldClock = { now: () => view.value.time_us, at: (us) => `${virtualTime(us)} s`, span };
