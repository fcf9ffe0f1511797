// @ts-check
// The clock of the live broker, for parts that both worlds have: microseconds since 1970.

import { clockTime, span } from "../format.js";
import { brokerNowMs } from "./view.js";

/** @type {Picture.Clock} */
export const brokerClock = {
  now: () => brokerNowMs.value * 1000,
  at: (us) => clockTime(us / 1000, true),
  span: (us) => span(us / 1000),
};
