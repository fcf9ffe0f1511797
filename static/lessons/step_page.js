// @ts-check
// One step: what to read, the question, the action, hints, and the result with its explanation.

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../parts/controls/button.js";
import { Icon } from "../parts/controls/icons.js";
import { t } from "../common/i18n.js";
import { bilingual } from "../common/world/format.js";
import { canWatch, doAgain, doIt, problem, setTheStage, shownVerdict, watchAgain } from "./flow.js";
import { hintsOpen, isDecided, place, recordOf } from "./lesson.js";
import { pointAt, stopPointing } from "./point.js";
import { answerText, Prediction } from "./prediction.js";
import { Prose } from "./prose.js";
import { replaying, stopReplay } from "./replay.js";
import { showSide } from "./phone_tabs.js";
import { acting, isReachable, readyFor } from "./world.js";

/** @type {(props: { step: Picture.ShownStep }) => any} */
export function StepPage({ step }) {
  return html`
    <${Prose} class="lesson-text" text=${step.html} />
    ${
      step.point_at.length > 0 &&
      html`<p>
        <${Button} class="button show-button" id="show-me" onClick=${() => showMe(step)}>
          <${Icon} name="eye" />${t("lesson.show.title")}
        </${Button}>
      </p>`
    }
    ${step.predict && html`<${Prediction} key=${step.id} step=${step} />`}
    <${Action} step=${step} /><${Hints} step=${step} /><${Result} step=${step} />
  `;
}

/** On a phone the stage has come in place of the text: afterwards the text comes back. */
function showMe(step) {
  stopPointing();
  showSide("stage");
  pointAt(step, () => showSide("text"));
}

/** The button that sends exactly what one could do by hand. */
function Action({ step }) {
  const { verdict } = recordOf(step.id);
  const busy = acting.value;
  if (replaying.value) return html`<${Replay} />`;
  if (verdict && !busy) return null;
  if (step.action.length === 0) return null;
  const isReady = readyFor.value === place.value - 1;
  return html`<section class="lesson-card action-card" aria-label=${t("word.action")}>
    <div class="button-row">
      <${Button}
        class="button button-primary do-button" id="do-it" disabled=${!isDecided(step) || busy || !isReachable.value}
        onClick=${doIt}
      >
        <${Icon} name="play" /><span>${bilingual(step.action_name) || t("lesson.action.do")}</span>
      </${Button}>
    </div>
    ${
      busy
        ? html`<p class="quiet" role="status">${t(`lesson.action.${busy.kind}`, { at: busy.at + 1, of: busy.of })}</p>`
        : !isDecided(step)
          ? html`<p class="quiet">${t("lesson.action.first_predict")}</p>`
          : isReady
            ? html`<p class="quiet">${t("lesson.action.by_hand")}</p>`
            : html`<p class="quiet">
              ${t("lesson.action.elsewhere")}${" "}
              <${Button} class="link-button" id="set-stage" onClick=${setTheStage}>
                ${t("lesson.action.set_stage")}
              </${Button}>
            </p>`
    }
    ${
      problem.value &&
      html`<p class="problem" role="alert" id="lesson-problem">
        ${problem.value}${" "}
        <${Button} class="link-button" onClick=${setTheStage}>${t("lesson.action.set_stage")}</${Button}>
      </p>`
    }
  </section>`;
}

function Replay() {
  const { at, of } = replaying.value ?? { at: 0, of: 1 };
  return html`<section class="lesson-card action-card" id="replay">
    <p role="status">${t("lesson.replay.text")}</p>
    <progress max=${of} value=${at} aria-label=${t("lesson.replay.progress")}></progress>
    <div class="button-row">
      <${Button} id="skip-replay" onClick=${stopReplay}>${t("lesson.replay.skip")}</${Button}>
    </div>
  </section>`;
}

function Hints({ step }) {
  const open = hintsOpen.value[step.id] ?? 0;
  if (step.hints.length === 0 || (shownVerdict.value && open === 0)) return null;
  const more = () => (hintsOpen.value = { ...hintsOpen.value, [step.id]: open + 1 });
  return html`<section class="hints" aria-label=${t("lesson.hint.title")}>
    <div aria-live="polite">
      ${
        open > 0 &&
        html`<ul>
          ${step.hints
            .slice(0, open)
            .map(
              (hint, index) =>
                html`<li key=${index} class="hint"><${Icon} name="bulb" /><${Prose} text=${hint} /></li>`,
            )}
        </ul>`
      }
    </div>
    ${
      open < step.hints.length &&
      html`<${Button} class="link-button hint-button" id="hint" onClick=${more}>
        ${t("lesson.hint.more", { at: open + 1, of: step.hints.length })}
      </${Button}>`
    }
  </section>`;
}

/** What the learner expected next to what the engine says, and why. */
function Result({ step }) {
  const verdict = step.action.length > 0 || shownVerdict.value?.after_html ? shownVerdict.value : null;
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const isNew = useRef(true);
  useLayoutEffect(() => {
    // The button that had the focus is gone: the result takes it, so that a keyboard goes on from here.
    if (verdict && !isNew.current && (document.activeElement === document.body || document.activeElement === null))
      box.current?.focus({ preventScroll: true });
    isNew.current = Boolean(verdict);
    if (verdict && box.current) bringIntoView(box.current);
  }, [verdict]);
  return html`<div aria-live="polite" class="result-place">
    ${
      verdict &&
      html`<section
        class="lesson-card result-card"
        id="result"
        tabindex="-1"
        ref=${box}
        aria-label=${t("field.result")}
      >
        ${step.action.length > 0 && html`<${Judgement} step=${step} judged=${verdict.prediction} />`}
        ${verdict.after_html && html`<${Prose} class="lesson-text" text=${verdict.after_html} />`}
        <p class="result-more">
          ${
            canWatch(step.id) &&
            html`<${Button} class="link-button" id="watch-again" onClick=${() => watchAgain(step.id)}>
              ${t("landing.demo.replay")}
            </${Button}>`
          }
          ${
            step.action.length > 0 &&
            html`<${Button} class="link-button" id="do-again" onClick=${doAgain}>
              ${t("lesson.result.again")}
            </${Button}>`
          }
        </p>
      </section>`
    }
  </div>`;
}

/**
 * Scrolls the lesson's text, and never the page, so that as much of an element in it shows as can.
 *
 * @param {HTMLElement} element
 */
function bringIntoView(element) {
  const body = element.closest(".lesson-body");
  if (!body) return;
  const [frame, box] = [body.getBoundingClientRect(), element.getBoundingClientRect()];
  const margin = 12;
  const below = box.bottom + margin - frame.bottom;
  if (below > 0) body.scrollTop += Math.min(below, box.top - margin - frame.top);
}

function Judgement({ step, judged }) {
  const { prediction } = recordOf(step.id);
  if (!judged)
    return html`<p class="judgement judgement-done">
      <span class="verdict"><${Icon} name="check" /></span><strong>${t("lesson.result.done")}</strong>
    </p>`;
  return html`<div class=${`judgement ${judged.right ? "judgement-right" : "judgement-wrong"}`}>
    <span class="verdict"><${Icon} name=${judged.right ? "check" : "differs"} /></span>
    <div>
      <strong>${t(judged.right ? "lesson.result.right" : "lesson.result.wrong")}</strong>
      ${
        !judged.right &&
        html`<dl class="expected">
          <dt>${t("lesson.result.you")}</dt><dd>${answerText(step.predict, prediction)}</dd>
          ${
            judged.answer !== null &&
            html`<dt>${t("lesson.result.engine")}</dt><dd>${answerText(step.predict, judged.answer)}</dd>`
          }
        </dl>`
      }
      ${judged.why && html`<${Prose} class="why-wrong" text=${judged.why} />`}
    </div>
  </div>`;
}
