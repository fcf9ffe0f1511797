// @ts-check
// A field of a form, with its label above it.

import { html } from "htm/preact";

export function Field({ label, children, isWide = false }) {
  return html`<label class=${`action-field ${isWide ? "is-wide" : ""}`}><span>${label}</span>${children}</label>`;
}
