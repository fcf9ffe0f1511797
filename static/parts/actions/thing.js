// @ts-check
// The thing on the stage that was pressed, and whether one is being viewed.

import { computed } from "@preact/signals";
import { openThing } from "../../common/actions/thing.js";
import { openDeadLetters, openFrame, openHalf, openRecord, openSetting } from "../../common/world/view.js";

export { acting, offer } from "../../common/actions/thing.js";

/** Whether a thing, or a dialog about one, is open. */
export const isLooking = computed(() =>
  [openThing, openFrame, openRecord, openSetting, openHalf, openDeadLetters].some(({ value }) => value !== null),
);
