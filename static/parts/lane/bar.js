// @ts-check
// A bar that runs out.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";

/** `left` and `whole` in the same unit. Without a label, words next to it say the same.
    @param {{ left: number, whole: number, label?: string, kind?: string }} props */
export function Bar({ left, whole, label = "", kind = "" }) {
  const share = whole > 0 ? Math.min(1, Math.max(0, left / whole)) : 0;
  const spoken = label ? { role: "img", "aria-label": label, title: label } : { "aria-hidden": "true" };
  return html`<span class=${`bar ${kind}`} ...${spoken}>
    <span class="bar-fill" style=${{ transform: `scaleX(${share.toFixed(3)})` }}></span>
  </span>`;
}

/** What is left of a time, as a bar and in words. `label`: key of the sentence that says so, `facts`: its other values.
    @param {{ leftUs: number, wholeMs: number, clock: Picture.Clock, label: string, facts?: object,
      kind?: string }} props */
export function TimeLeft({ leftUs, wholeMs, clock, label, facts, kind }) {
  const time = clock.span(leftUs);
  return html`<${Bar} left=${leftUs} whole=${wholeMs * 1000} kind=${kind} label=${t(label, { time, ...facts })} />
    <span class="number timer-text">${time}</span>`;
}
