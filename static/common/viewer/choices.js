// @ts-check
// Choices of the user that the browser keeps.

import { effect, signal } from "@preact/signals";
import { keep, kept } from "./kept.js";

/**
 * A choice that the browser keeps.
 *
 * @param {string} key
 * @param {string} fallback
 */
export function choice(key, fallback) {
  const chosen = signal(kept(`glassmq.${key}`) ?? fallback);
  effect(() => keep(`glassmq.${key}`, chosen.value));
  return chosen;
}

export const laneScale = choice("lane-scale", "log");
export const showSystemTopics = choice("system-topics", "no");
export const shortcuts = choice("shortcuts", "on");
/** Whether the map of these shortcuts is open; not kept. */
export const keyMapOpen = signal(false);
