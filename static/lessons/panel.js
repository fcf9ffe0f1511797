// @ts-check
// The lesson next to the stage: title, how far one is, the open page, back and next.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { Button } from "../parts/controls/button.js";
import { Icon } from "../parts/controls/icons.js";
import { t } from "../common/i18n.js";
import { bilingual } from "../common/world/format.js";
import { status } from "../common/world/view.js";
import { beginAnew } from "./flow.js";
import { allDone, done, goTo, isIntro, isSummary, lesson, place, recordOf, step, steps } from "./lesson.js";
import { markMentioned, unmarkMentioned } from "./mentions.js";
import { stopPointing } from "./point.js";
import { Prose } from "./prose.js";
import { stopReplay } from "./replay.js";
import { StepPage } from "./step_page.js";
import { openAgain, refusedWorld } from "./world.js";

export function LessonPanel() {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) heading.current?.focus({ preventScroll: true });
    isFirst.current = false;
    if (body.current) body.current.scrollTop = 0;
    stopPointing();
    stopReplay();
  }, [place.value]);
  const title = isIntro.value
    ? t("lesson.intro")
    : isSummary.value
      ? t("lesson.summary")
      : bilingual(step.value.heading);
  return html`<section
    class="lesson-panel panel"
    id="lesson"
    aria-label=${t("word.lesson")}
    onKeyDown=${keepScrollKeys}
  >
    <${Dots} />
    <div
      class="lesson-body"
      ref=${body}
      tabindex="0"
      role="region"
      aria-labelledby="lesson-heading"
      onPointerOver=${markMentioned}
      onPointerLeave=${unmarkMentioned}
    >
      <${Trouble} />
      ${
        !isSummary.value &&
        html`<p class="lesson-kicker quiet">
          ${
            isIntro.value
              ? t("lesson.minutes", { n: lesson.minutes })
              : t("word.step", { at: place.value, of: steps.length })
          }
        </p>`
      }
      <h2 id="lesson-heading" tabindex="-1" ref=${heading}>${title}</h2>
      ${
        isIntro.value
          ? html`<${Intro} />`
          : isSummary.value
            ? html`<${Summary} />`
            : html`<${StepPage} key=${step.value.id} step=${step.value} />`
      }
    </div>
    <${Foot} />
  </section>`;
}

/** Keys that scroll the text do so, whatever they do to the world elsewhere on the page. */
const keepScrollKeys = (event) => [" ", "Home", "End"].includes(event.key) && event.stopPropagation();

/** One button per page; a row of buttons that are all in the order of the Tab key, as there are few. */
function Dots() {
  const dot = (index, label, name, kind) => html`<li key=${index}>
    <${Button}
      class=${`dot dot-${kind}`} aria-current=${place.value === index ? "step" : undefined} onClick=${() => goTo(index)}
      title=${name} label=${label}
    >
      ${
        kind === "done"
          ? html`<${Icon} name="check" />`
          : kind === "summary"
            ? html`<${Icon} name="flag" />`
            : kind === "intro"
              ? "i"
              : index
      }
    </${Button}>
  </li>`;
  return html`<nav class="dots" aria-label=${t("lesson.progress", { done: done.value.size, of: steps.length })}>
    <ol style=${{ "--n": steps.length + 2 }}>
      ${dot(0, t("lesson.intro"), t("lesson.intro"), "intro")}
      ${steps.map(({ id, heading }, index) => {
        const isDone = done.value.has(id);
        const name = bilingual(heading);
        return dot(
          index + 1,
          t(isDone ? "lesson.dot_done" : "lesson.dot", { at: index + 1, name }),
          name,
          isDone ? "done" : "todo",
        );
      })}
      ${dot(steps.length + 1, t("lesson.summary"), t("lesson.summary"), "summary")}
    </ol>
  </nav>`;
}

/** What keeps the world away from this page. */
function Trouble() {
  if (refusedWorld.value) {
    return html`<div class="problem" role="alert" id="world-refused">
      <p><strong>${t("lesson.trouble.no_world")}</strong> ${refusedWorld.value.text}</p>
      <p>
        <${Button} id="open-again" onClick=${openAgain}>${t("lesson.trouble.again")}</${Button}>
      </p>
    </div>`;
  }
  const trouble = { reconnecting: "lost", refused: "full" }[status.value];
  return (
    trouble &&
    html`<p class="problem" role="status" id="connection-lost">
      <strong>${t(`lesson.trouble.${trouble}`)}</strong> ${t(`lesson.trouble.${trouble}_text`)}
    </p>`
  );
}

function Intro() {
  return html`
    <${Prose} class="lesson-text" text=${lesson.intro_html} />
    ${
      lesson.needs.length > 0 &&
      html`<p class="quiet" id="lesson-needs">
        ${t("lesson.needs")}
        ${lesson.needs.map(
          ({ number, name }) =>
            html` <a key=${name} href=${`/tutorials/${encodeURIComponent(name)}`}>
                ${t("lesson.number", { n: number })}
              </a>`,
        )}
      </p>`
    }
    <ol class="contents">
      ${steps.map(
        ({ id, heading }, index) =>
          html`<li key=${id}>
            <${Button} class="link-button" onClick=${() => goTo(index + 1)}>${bilingual(heading)}</${Button}>
            ${
              done.value.has(id) &&
              html` <span class="good-text" title=${t("lesson.done")}>
                  <${Icon} name="check" /><span class="sr-only">${t("lesson.done")}</span>
                </span>
              `
            }
          </li>`,
      )}
    </ol>
    ${done.value.size > 0 && html`<${BeginAnew} />`}
  `;
}

function Summary() {
  return html`
    ${!allDone.value && html`<p class="quiet">${t("lesson.some_open", { n: steps.length - done.value.size })}</p>`}
    ${
      allDone.value &&
      html`<p class="finished">
        <span class="verdict"><${Icon} name="check" /></span>
        <span><strong>${t("lesson.finished")}</strong> <${Score} /></span>
      </p>`
    }
    <${Prose} class="lesson-text" text=${lesson.summary_html} />
    <p class="summary-ways">
      <a class="button" href=${`/lab/${encodeURIComponent(lesson.scenario)}${location.hash}`}>
        ${t("lesson.to_lab")}
      </a>${" "}
      <a class="button" href="/tutorials">${t("lesson.to_list")}</a>
    </p>
    <${BeginAnew} />
  `;
}

function Score() {
  const judged = steps.flatMap(({ id }) => recordOf(id).verdict?.prediction ?? []);
  return judged.length > 0
    ? t("lesson.score", { right: judged.filter(({ right }) => right).length, of: judged.length })
    : null;
}

function BeginAnew() {
  const asks = useSignal(false);
  if (!asks.value)
    return html`<p>
      <${Button} class="link-button" id="begin-anew" onClick=${() => (asks.value = true)}>
        ${t("lesson.restart")}
      </${Button}>
    </p>`;
  return html`<p class="problem" role="alert">
    ${t("lesson.restart_text")}${" "}
    <${Button} id="begin-anew-yes" onClick=${() => (beginAnew(), (asks.value = false))}>${t("word.restart")}</${Button}>
    <${Button} onClick=${() => (asks.value = false)}>${t("word.cancel")}</${Button}>
  </p>`;
}

function Foot() {
  const isDone = isIntro.value || (step.value && recordOf(step.value.id).verdict);
  const next = isIntro.value
    ? t("lesson.begin")
    : isDone || step.value?.action.length === 0
      ? t("lesson.next")
      : t("lesson.skip");
  return html`<footer class="lesson-foot">
    <${Button} id="lesson-back" disabled=${isIntro.value} onClick=${() => goTo(place.value - 1)}>
      ${t("lesson.back")}
    </${Button}>
    ${
      isSummary.value
        ? lesson.next
          ? html`<a
            class="button button-primary"
            id="next-lesson"
            href=${`/tutorials/${encodeURIComponent(lesson.next)}`}
          >
            ${t("lesson.next_lesson")}
          </a>`
          : html`<a class="button button-primary" href="/tutorials">${t("lesson.to_list")}</a>`
        : html`<${Button}
          class=${`button ${isDone ? "button-primary" : ""}`} id="lesson-next" onClick=${() => goTo(place.value + 1)}
        >
          ${next}
        </${Button}>`
    }
  </footer>`;
}
