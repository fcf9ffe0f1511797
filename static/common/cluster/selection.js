// @ts-check
// What a user of the page has chosen, opened or pointed at, as signals.

import { signal } from "@preact/signals";

export const topicFilter = signal("");

/** Whether the user opened or closed the section of a topic, by its name. */
export const openTopics = signal(/** @type {Record<string, boolean>} */ ({}));

/** What the pointer or focus is on, to mark the same thing elsewhere: { topic, queueId } or { clientId } or null. */
export const highlighted = signal(/** @type {any | null} */ (null));

/** The group that is shown in detail, or null: the first. */
export const chosenGroup = signal(/** @type {string | null} */ (null));

/** Commit-log offset of the record in the inspector, or null. */
export const inspectedOffset = signal(/** @type {number | null} */ (null));
/** The queue whose entries are open: { topic, queueId }, or null. */
export const inspectedQueue = signal(/** @type {{ topic: string, queueId: string } | null} */ (null));
