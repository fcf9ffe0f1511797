// @ts-check
// The root's font size in pixels: drawings grow with the text (14 normally, 21 on the projector).

import { signal } from "@preact/signals";

const rootFontSize = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

export const remPx = signal(rootFontSize());
addEventListener("themechange", () => (remPx.value = rootFontSize()));
