// The thing that was pressed, and the properties that make an element the button of a thing.

import { signal } from "@preact/signals";

/** { thing, anchor } whose actions are offered, or null. `thing`: { kind, ...what tells it from others }. */
export const openThing = signal(null);

/** Properties of a button that offers what can be done to a thing; the page's offers know the kinds. */
export const acting = (kind, facts) => ({
  type: "button",
  "data-thing": kind,
  "aria-haspopup": "dialog",
  onClick: (event) => offer({ kind, ...facts }, event.currentTarget),
});

/** Opens the popover of a thing at an element; at the same element again: closes it. */
export function offer(thing, anchor) {
  openThing.value = openThing.peek()?.anchor === anchor ? null : { thing, anchor };
}
