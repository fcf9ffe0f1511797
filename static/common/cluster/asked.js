// Which form of an operator is open, and what the last one came to.

import { signal } from "@preact/signals";

/** { form: "send" | "topic" | "reset", topic, group } or null. */
export const askedForm = signal(null);
/** One sentence; "" while there is nothing to tell. */
export const told = signal("");

export const askToSend = (topic = "") => (askedForm.value = { form: "send", topic });
export const askForTopic = () => (askedForm.value = { form: "topic" });
export const askToReset = (group, topic = null) => (askedForm.value = { form: "reset", group, topic });
