// @ts-check
// Whether the user has stopped the view of the live page: the stream goes on, what is shown keeps still.

import { signal } from "@preact/signals";

export const paused = signal(false);
