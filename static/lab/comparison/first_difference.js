// @ts-check
// Where two runs begin to differ. The server runs both side by side to find out; asked again when something was done.

import { effect, signal } from "@preact/signals";
import { get } from "../../common/request.js";
import { both } from "./two_worlds.js";

/**
 * @typedef {{ event: number, time_us: number, left: Picture.ComparedSide, right: Picture.ComparedSide }} Difference
 * @typedef {{ event: null, time_us: number, events: number }} Same They do the same, up to there.
 * @typedef {{ event: null, unknown: true }} Unknown It took too long to find out.
 */

/** null: not known yet. */
export const firstDifference = signal(/** @type {Difference | Same | Unknown | null} */ (null));

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
  const [left, right] = shown.map(({ world }) => encodeURIComponent(world.id));
  find(left, right).finally(() => (isAsking.value = false));
});

/**
 * @param {string} left Its world's id, as part of an address.
 * @param {string} right
 */
async function find(left, right) {
  const { answer } = await get(`/api/lab/${left}/difference?other=${right}`);
  firstDifference.value = answer ?? { event: null, unknown: true };
}
