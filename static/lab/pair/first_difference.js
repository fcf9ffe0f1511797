// Where two runs begin to differ. The server runs both side by side to find out; asked again when something was done.

import { effect, signal } from "@preact/signals";
import { both } from "./sides.js";

/** null: not known yet. {event, time_us, left, right}; `event` null: they do the same, up to `time_us`, or it took too
    long to find out (`unknown`). */
export const firstDifference = signal(null);

let asked = "";

effect(() => {
  const shown = both.value;
  if (!shown || shown.some((one) => one.busy !== null)) return;
  const question = JSON.stringify(shown.map(({ world, commands }) => [world.id, commands]));
  if (question === asked) return;
  asked = question;
  firstDifference.value = null;
  find(question, ...shown.map(({ world }) => encodeURIComponent(world.id)));
});

async function find(question, left, right) {
  try {
    const response = await fetch(`/api/lab/${left}/difference?other=${right}`);
    const answer = await response.json();
    if (question === asked) firstDifference.value = response.ok ? answer : { event: null, unknown: true };
  } catch {
    if (question === asked) asked = "";
  }
}
