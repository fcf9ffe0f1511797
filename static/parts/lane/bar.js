// @ts-check
// A bar that runs out.

import { html } from "htm/preact";

/** `left` and `whole` in the same unit. */
export function Bar({ left, whole, label, kind = "" }) {
  const share = whole > 0 ? Math.min(1, Math.max(0, left / whole)) : 0;
  return html`<span class=${`bar ${kind}`} role="img" aria-label=${label} title=${label}>
    <span class="bar-fill" style=${{ transform: `scaleX(${share.toFixed(3)})` }}></span>
  </span>`;
}
