// The signs on the controls, drawn in a box of 16 by 16.

import { html } from "htm/preact";

const PATHS = {
  play: "M4 2.5L13.5 8L4 13.5Z",
  pause: "M3.5 2.5H6.5V13.5H3.5ZM9.5 2.5H12.5V13.5H9.5Z",
  step: "M3 2.5L10 8L3 13.5ZM11 2.5H13.4V13.5H11Z",
  back: "M13 2.5L6 8L13 13.5ZM2.6 2.5H5V13.5H2.6Z",
  actor: "M2 5L6.5 8L2 11ZM10.5 4.2A2 2 0 1 0 10.5 .2A2 2 0 1 0 10.5 4.2ZM7 13.5V9.5C7 5.4 14 5.4 14 9.5V13.5Z",
  restart: "M8 2V0L12 3L8 6V4A4.5 4.5 0 1 0 12.5 8.5H14.5A6.5 6.5 0 1 1 8 2Z",
  until: "M1 7H8V3.5L13 8L8 12.5V9H1ZM13.4 2.5H15.4V13.5H13.4Z",
  fork: "M4.5 1.5A2 2 0 1 1 5.5 5.3V7.2C5.5 8 6 8.3 7 8.3H9C11 8.3 12 9.3 12 11V10.7A2 2 0 1 1 10 10.9C10 10.4 9.6 10.2 9 10.2H7C6.4 10.2 5.9 10.1 5.5 9.9V10.7A2 2 0 1 1 3.5 10.7V5.3A2 2 0 0 1 4.5 1.5Z",
  share: "M11.5 1A2.5 2.5 0 1 1 9.6 5.1L6.4 7A2.5 2.5 0 0 1 6.4 9L9.6 10.9A2.5 2.5 0 1 1 9 12.4L5.7 10.4A2.5 2.5 0 1 1 5.7 5.6L9 3.6A2.5 2.5 0 0 1 11.5 1Z",
  save: "M7 1H9V7H12L8 11.5L4 7H7ZM2 12.5H14V15H2Z",
  fault: "M9.5 0L3 9H7.2L6 16L13 6.4H8.6Z",
  check: "M2 8.5L4 6.5L6.8 9.2L12.4 3L14.4 5L6.9 13.2Z",
  cross: "M3 1.2L8 6.2L13 1.2L14.8 3L9.8 8L14.8 13L13 14.8L8 9.8L3 14.8L1.2 13L6.2 8L1.2 3Z",
  lock: "M4 7V5A4 4 0 0 1 12 5V7H13V15H3V7ZM6 7H10V5A2 2 0 0 0 6 5Z",
  hold: "M5 2H7V8H9V1H11V8H12.5V10C12.5 13.5 11 15 8.5 15S4 13 3 9.5L4 8.5L5 9.8Z",
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 16 16" width="1em" height="1em" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}
