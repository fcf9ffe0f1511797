// @ts-check
// The question before the run. A learner who has committed to an answer sees what happens with other eyes; so it is
// answered, or skipped on purpose, before the step's button works.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { Button } from "../parts/controls/button.js";
import { Radio } from "../parts/controls/choices.js";
import { Icon } from "../parts/controls/icons.js";
import { count } from "../common/format.js";
import { t } from "../common/i18n.js";
import { bilingual } from "../common/world/format.js";
import { loaded, view } from "../common/world/view.js";
import { note, recordOf } from "./lesson.js";
import { Prose } from "./prose.js";
import { elementOf, targetName } from "./targets.js";

const FORMS = { choice: Choices, number: NumberField, click: Targets };

export function Prediction({ step }) {
  const { predict, id } = step;
  const { prediction, isSkipped, verdict } = recordOf(id);
  const draft = useSignal(prediction ?? null);
  const isDecided = prediction !== undefined || isSkipped;
  const commit = (event) => {
    event.preventDefault();
    if (draft.value !== null) decide({ prediction: draft.value, isSkipped: false });
  };
  /** The form goes away; what comes next gets the focus. */
  const decide = (answer) => {
    note(id, answer);
    requestAnimationFrame(() => document.getElementById("do-it")?.focus({ preventScroll: true }));
  };
  const Form = FORMS[predict.kind];
  if (isDecided) {
    return html`<section class="lesson-card predict-card is-decided" aria-label=${t("lesson.predict.title")}>
      <${Prose} class="lesson-question" text=${predict.question} />
      <p class="predict-given">
        ${
          isSkipped
            ? t("lesson.predict.skipped")
            : html`${t("lesson.predict.given")} <strong>${answerText(predict, prediction)}</strong>`
        }
        ${
          !verdict &&
          html` <${Button} class="link-button" onClick=${() => note(id, { prediction: undefined, isSkipped: false })}>
              ${t("lesson.predict.change")}
            </${Button}>
          `
        }
      </p>
    </section>`;
  }
  return html`<form class="lesson-card predict-card" onSubmit=${commit}>
    <fieldset>
      <legend class="card-title"><${Icon} name="question" />${t("lesson.predict.title")}</legend>
      <${Prose} class="lesson-question" text=${predict.question} />
      <${Form} predict=${predict} draft=${draft} name=${`predict-${id}`} />
    </fieldset>
    <div class="button-row">
      <button type="submit" class="button button-primary" id="predict" disabled=${draft.value === null}>
        ${t("lesson.predict.commit")}
      </button>
      <${Button}
        class="link-button" id="skip-prediction" onClick=${() => decide({ prediction: undefined, isSkipped: true })}
      >
        ${t("lesson.predict.skip")}
      </${Button}>
    </div>
  </form>`;
}

/** As the figures of the texts are written. */
const figure = (number) => (Number.isInteger(number) ? count(number) : number);

/** An answer in words: what the learner gave, or what the engine says. */
export function answerText(predict, answer) {
  if (predict.kind === "choice")
    return html`<${Prose} as="span" text=${predict.choices.find(({ id }) => id === answer)?.text} />`;
  if (predict.kind === "number") return `${figure(answer)}${predict.unit ? ` ${bilingual(predict.unit)}` : ""}`;
  return targetName(answer);
}

function Choices({ predict, draft, name }) {
  const options = predict.choices.map(({ id, text }) => [id, html`<${Prose} as="span" text=${text} />`]);
  return html`<${Options} name=${name} draft=${draft} options=${options} />`;
}

/** Answers of which one is chosen: what `draft` becomes, and how it is shown. */
const Options = ({ name, draft, options }) =>
  html`<div class="choices">
    ${options.map(
      ([value, shown]) =>
        html`<${Radio} key=${value} class="choice-row" name=${name} value=${value} of=${draft}>${shown}</${Radio}>`,
    )}
  </div>`;

function NumberField({ predict, draft }) {
  const read = ({ currentTarget: { value } }) =>
    (draft.value = value.trim() === "" || !Number.isFinite(Number(value)) ? null : Number(value));
  return html`<label class="number-row">
    <span class="sr-only">${t("lesson.predict.number")}</span>
    <input
      class="input"
      type="number"
      step="any"
      inputmode="numeric"
      id="predict-number"
      value=${draft.value ?? ""}
      onInput=${read}
      placeholder="?"
    />
    ${predict.unit && html`<span class="quiet">${bilingual(predict.unit)}</span>`}
  </label>`;
}

/** Things of the stage: a click on one of them, or the same ones in a list for the keyboard. */
function Targets({ predict, draft, name }) {
  useEffect(() => {
    const stage = document.getElementById("stage");
    if (!loaded.value || !stage) return undefined;
    document.documentElement.dataset.picking = "yes";
    const shown = () => {
      for (const target of predict.targets) {
        const element = elementOf(target);
        element?.classList.add("is-pickable");
        element?.classList.toggle("is-picked", draft.peek() === target);
      }
    };
    const pick = (event) => {
      // The innermost one: a queue stands inside its broker.
      const hit = predict.targets
        .map((target) => [target, elementOf(target)])
        .filter(([, element]) => element?.contains(event.target))
        .sort(([, a], [, b]) => (a.contains(b) ? 1 : -1))[0];
      if (!hit) return;
      event.preventDefault();
      event.stopPropagation();
      draft.value = hit[0];
    };
    const stops = [view.subscribe(() => requestAnimationFrame(shown)), draft.subscribe(shown)];
    stage.addEventListener("click", pick, true);
    return () => {
      stops.forEach((stop) => stop());
      stage.removeEventListener("click", pick, true);
      delete document.documentElement.dataset.picking;
      document
        .querySelectorAll(".is-pickable")
        .forEach((element) => element.classList.remove("is-pickable", "is-picked"));
    };
  }, [predict, loaded.value]);
  return html`
    <p class="quiet pick-hint">${t("lesson.predict.click")}</p>
    <${Options}
      name=${name}
      draft=${draft}
      options=${predict.targets.map((target) => [target, html`<span>${targetName(target)}</span>`])}
    />
  `;
}
