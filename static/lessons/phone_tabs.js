// @ts-check
// On a phone the lesson's text and its stage take turns. What happens on the stage shows it by itself; the switch says
// what waits where one does not look: something to choose on the stage, or a result in the text.

import { html } from "htm/preact";
import { effect, signal, untracked } from "@preact/signals";
import { t } from "../common/i18n.js";
import { Button } from "../parts/controls/button.js";
import { shape } from "../parts/controls/dock.js";
import { shownVerdict } from "./flow.js";
import { isDecided, place, step } from "./lesson.js";
import { replaying } from "./replay.js";

const SIDES = ["text", "stage"];

export const side = signal("text");
/** What waits where one does not look, or null: "choose" on the stage, "result" in the text. */
const news = signal(/** @type {"choose" | "result" | null} */ (null));

/** @param {"choose" | "result"} word */
const sideOf = (word) => (word === "result" ? "text" : "stage");

/** @param {"choose" | "result"} word */
function tell(word) {
  news.value = side.peek() === sideOf(word) ? null : word;
}

/** Each page begins with its text. */
function begin(now) {
  side.value = "text";
  news.value = now?.predict?.kind === "click" && !isDecided(now) ? "choose" : null;
}

export function showSide(name) {
  side.value = name;
  const waiting = news.peek();
  if (waiting && sideOf(waiting) === name) news.value = null;
}

/** What happens is shown where it happens; the result waits in the text until one has seen enough. */
export function followTheSides() {
  effect(() => {
    const now = step.value;
    if (place.value >= 0) untracked(() => begin(now));
  });
  effect(() => {
    if (step.value && isDecided(step.value) && news.peek() === "choose") news.value = null;
  });
  effect(() => {
    if (replaying.value && shape.peek() === "phone") showSide("stage");
  });
  let known = shownVerdict.peek();
  effect(() => {
    if (shownVerdict.value && shownVerdict.value !== known) tell("result");
    known = shownVerdict.value;
  });
}

export function SideSwitch() {
  return html`<div class="side-switch" role="group" aria-label=${t("lesson.side.title")}>
    ${SIDES.map(
      (name) =>
        html`<${Button}
          key=${name} class="side-button" id=${`side-${name}`} aria-pressed=${side.value === name}
          onClick=${() => showSide(name)}
        >
          ${t(`lesson.side.${name}`)}
          <span class="side-news" role="status">
            ${news.value && sideOf(news.value) === name && t(`lesson.side.${news.value}`)}
          </span>
        </${Button}>`,
    )}
  </div>`;
}
