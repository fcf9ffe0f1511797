// @ts-check
// The thing that was pressed, and the properties that make an element the button of a thing.

import { signal } from "@preact/signals";

/** @typedef {{ kind: string, [fact: string]: any }} Thing Its kind, and what tells it from others. */

/** The thing whose actions are offered, and the element that was pressed; null: none. */
export const openThing = signal(/** @type {{ thing: Thing, anchor: HTMLElement } | null} */ (null));

/**
 * Properties of a button that offers what can be done to a thing; the page's offers know the kinds.
 *
 * @param {string} kind
 * @param {object} facts
 */
export const acting = (kind, facts) => ({
  type: "button",
  "data-thing": kind,
  "aria-haspopup": "dialog",
  /** @param {{ currentTarget: HTMLElement }} event */
  onClick: (event) => offer({ kind, ...facts }, event.currentTarget),
});

/**
 * Opens the popover of a thing at an element; at the same element again: closes it.
 *
 * @param {Thing} thing
 * @param {HTMLElement} anchor
 */
export function offer(thing, anchor) {
  openThing.value = openThing.peek()?.anchor === anchor ? null : { thing, anchor };
}
