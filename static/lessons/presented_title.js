// @ts-check
// What a presentation of a lesson has above its stage: the step, the ways to the next one and the one before, and what
// the step asks for. Page keys turn the pages; the text waits until it is asked for.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { bilingual } from "../common/world/format.js";
import { t } from "../common/i18n.js";
import { Button } from "../parts/controls/button.js";
import { Aside } from "../parts/controls/view_buttons.js";
import { dockOpen } from "../parts/controls/dock.js";
import { Icon } from "../parts/controls/icons.js";
import { doIt, setTheStage } from "./flow.js";
import { goTo, isDecided, isIntro, isSummary, lesson, place, recordOf, step, steps } from "./lesson.js";
import { replaying, stopReplay } from "./replay.js";
import { acting, isReachable, readyFor } from "./world.js";

/** Whether the lesson's text covers part of the stage. */
export const textOpen = signal(false);

/** Goes `by` pages on, and brings the world to where that step begins. */
export function turnPage(by) {
  const before = place.peek();
  stopReplay();
  goTo(before + by);
  const index = place.peek() - 1;
  if (place.peek() !== before && steps[index] && readyFor.peek() !== index) setTheStage();
}

export function PresentedTitle() {
  const { value: now } = step;
  const heading = isIntro.value || isSummary.value ? lesson.title : now.heading;
  const at = isIntro.value
    ? t("lesson.intro")
    : isSummary.value
      ? t("lesson.summary")
      : t("word.step", { at: place.value, of: steps.length });
  const page = (name, by, sign, isOff, key) => html`<${Button}
    class="button icon-button small-button" id=${`present-${name}`} disabled=${isOff} onClick=${() => turnPage(by)}
    title=${`${t(`lesson.${name}`)} (${key})`} label=${t(`lesson.${name}`)}
  >
    ${sign}
  </${Button}>`;
  const isOpen = now && now.action.length > 0 && !recordOf(now.id).verdict && !replaying.value;
  return html`
    ${page("back", -1, "‹", isIntro.value, "Page Up")} ${page("next", 1, "›", isSummary.value, "Page Down")}
    <h1 class="presented-title ellipsis"><span class="quiet">${at}</span> ${bilingual(heading)}</h1>
    ${
      isOpen &&
      html`<${Button}
        class="button button-primary small-button" id="present-do"
        disabled=${!isDecided(now) || acting.value || !isReachable.value} onClick=${doIt}
        title=${bilingual(now.action_name)}
      >
        <${Icon} name="play" />${t("lesson.action.do")}
      </${Button}>`
    }
    <${Aside} name="text" isOpen=${textOpen} /><${Aside} name="details" isOpen=${dockOpen} />
  `;
}
