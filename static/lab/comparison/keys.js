// @ts-check
// The keys of two worlds side by side: the same that move the time of one.

import { targetOf } from "../../common/elements.js";
import { shortcuts } from "../../common/viewer/choices.js";

/** @type {Record<string, string>} */
const KEYS = { " ": "play", ".": "step", ",": "back", Home: "restart", End: "last", r: "restart" };

/** @param {(action: string) => void} press */
export function listenToKeys(press) {
  addEventListener("keydown", (event) => {
    const { key } = event;
    const target = targetOf(event);
    const action = KEYS[key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey || shortcuts.value !== "on") return;
    if (document.querySelector("dialog[open]") || target?.matches("select, textarea, input:not([type=checkbox])"))
      return;
    if (key === " " && target?.matches("button, a, summary, input")) return;
    event.preventDefault();
    press(action);
  });
}
