// @ts-check
// Which form of an operator is open, and what the last one came to.

import { signal } from "@preact/signals";

/** @typedef {{ form: "send" | "topic" | "reset", topic?: string | null, group?: string }} Asked */

export const askedForm = signal(/** @type {Asked | null} */ (null));
/** One sentence; "" while there is nothing to tell. */
export const told = signal("");

export const askToSend = (topic = "") => (askedForm.value = { form: "send", topic });
export const askForTopic = () => (askedForm.value = { form: "topic" });
/**
 * @param {string} group
 * @param {string | null} topic null: the user chooses one.
 */
export const askToReset = (group, topic = null) => (askedForm.value = { form: "reset", group, topic });
