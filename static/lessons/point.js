// @ts-check
// "Show me": darkens the page around the things that a step is about, one after the other, and says what to look for,
// or, where the lesson does not say, what they are.

import { driver } from "driver.js";
import { t } from "../common/i18n.js";
import { bilingual } from "../common/world/format.js";
import { motion } from "../common/viewer/motion.js";
import { elementOrHolder, reveal, targetName, targetText } from "./targets.js";

/** Ends what is being shown. (The library's own `onDestroyed` is left out while it still moves to its first target.) */
let finish = null;

/** Shows the targets of a step in their order; Escape or the cross ends it: `whenDone`, and the focus returns. */
export function pointAt(step, whenDone) {
  const opener = document.activeElement;
  step.point_at.forEach(reveal);
  requestAnimationFrame(() => start(step, opener, whenDone));
}

export const stopPointing = () => finish?.();

function start({ point_at: targets, look_for: lookFor }, opener, whenDone) {
  const theme = getComputedStyle(document.documentElement);
  const tour = driver({
    animate: motion.peek(),
    smoothScroll: motion.peek(),
    duration: 260,
    allowKeyboardControl: false,
    stagePadding: 5,
    stageRadius: 8,
    overlayColor: theme.getPropertyValue("--lesson-overlay").trim() || "#000",
    overlayOpacity: 0.6,
    popoverClass: "lesson-popover",
    showProgress: targets.length > 1,
    progressText: t("word.of", { at: "{{current}}", of: "{{total}}" }),
    nextBtnText: t("lesson.next"),
    prevBtnText: t("lesson.back"),
    doneBtnText: t("word.close"),
    showButtons: targets.length > 1 ? ["next", "previous", "close"] : ["next", "close"],
    onPopoverRender: ({ closeButton, title, footer }) => {
      closeButton.setAttribute("aria-label", t("word.close"));
      // The library's header and footer would count as those of the whole page.
      for (const part of [title, footer]) part.setAttribute("role", "none");
    },
    onHighlighted: plain,
    onDestroyStarted: stopPointing,
    steps: targets.map((target) => ({
      element: () => elementOrHolder(target),
      popover: {
        title: escaped(targetName(target)),
        description: escaped(bilingual(lookFor[target]) || targetText(target)),
      },
    })),
  });
  finish = () => {
    finish = null;
    removeEventListener("keydown", endOnEscape, true);
    tour.destroy();
    whenDone();
    focusAgain(opener);
  };
  addEventListener("keydown", endOnEscape, true);
  tour.drive();
}

/** On a phone the opener is there again only some pictures later. */
function focusAgain(opener, tries = 10) {
  opener?.focus?.();
  if (document.activeElement !== opener && tries > 0) requestAnimationFrame(() => focusAgain(opener, tries - 1));
}

/** The library gives the element attributes of a button that opens something; most of these elements are none. */
function plain(element) {
  for (const name of ["aria-expanded", "aria-controls", "aria-haspopup"]) element?.removeAttribute(name);
}

function endOnEscape(event) {
  if (event.key !== "Escape") return;
  event.preventDefault();
  event.stopPropagation();
  stopPointing();
}

/** The library takes HTML. */
function escaped(text) {
  const box = document.createElement("span");
  box.textContent = text;
  return box.innerHTML;
}
