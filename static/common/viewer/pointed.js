// @ts-check
// The message or transfer on which the pointer is: it is marked wherever the page shows it.

import { signal } from "@preact/signals";

/** Its key. */
export const pointedKey = signal(/** @type {string | null} */ (null));

/** @param {string | null | undefined} key */
export const isPointed = (key) => Boolean(pointedKey.value) && pointedKey.value === key;

/** What makes an element's pointer point at the message or transfer of that key.
    @param {string | null | undefined} key */
export const pointing = (key) => ({
  onPointerEnter: () => (pointedKey.value = key ?? null),
  onPointerLeave: () => (pointedKey.value = null),
});
