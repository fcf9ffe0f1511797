// Where two runs begin to differ. The server runs both side by side to find out; asked again when something was done.

import { effect, signal } from "@preact/signals";
import { sendRequest } from "../../common/transport.js";
import { both } from "./two_worlds.js";

/** null: not known yet. {event, time_us, left, right}; `event` null: they do the same, up to `time_us`, or it took too
    long to find out (`unknown`). */
export const firstDifference = signal(null);

let asked = "";
/** One question at a time: what is asked meanwhile waits. */
const isAsking = signal(false);

effect(() => {
  const shown = both.value;
  if (!shown || shown.some((one) => one.busy !== null)) return;
  const question = JSON.stringify(shown.map(({ world, commands }) => [world.id, commands]));
  if (question === asked) return;
  firstDifference.value = null;
  if (isAsking.value) return;
  asked = question;
  isAsking.value = true;
  find(...shown.map(({ world }) => encodeURIComponent(world.id))).finally(() => (isAsking.value = false));
});

async function find(left, right) {
  try {
    const response = await sendRequest(`/api/lab/${left}/difference?other=${right}`);
    firstDifference.value = response.ok ? await response.json() : { event: null, unknown: true };
  } catch {
    firstDifference.value = { event: null, unknown: true };
  }
}
