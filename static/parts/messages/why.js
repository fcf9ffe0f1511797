// @ts-check
// Why did that happen to a message? A card next to the stage: the questions, the answer in one sentence, and the
// events that made it so. Each shows its moment on the stage; what has not happened yet can be run to.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { computed, signal } from "@preact/signals";
import { typedKey } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { bilingual, virtualTime } from "../../common/world/format.js";
import { Roving } from "../../common/roving.js";
import { isRecording, run, runUntil, scrub } from "../../common/world/session.js";
import { pointing } from "../../common/viewer/pointed.js";
import { calmView, chosenEvent, mine, nodesOfRole, view } from "../../common/world/view.js";
import { Button } from "../controls/button.js";
import { showPanel } from "../controls/dock.js";
import { sending } from "../controls/choices.js";
import { WhyStep } from "./why_step.js";
import { WalkButton } from "./why_walk.js";

/** What was asked last: { key, answer, problem }, or null. `answer` and `problem` are null while it is looked for. */
const asked = signal(/** @type {any} */ (null));
/** Which of its answers is shown. */
const shown = signal(0);

/** What is explained is how messages came to consumers: where there are none, there is nothing to ask. */
export const canAsk = computed(() =>
  ["consumer", "kafka_consumer", "wire_consumer"].some((role) => nodesOfRole[role].value.length > 0),
);

const SIGNS = { lost: "∅", twice: "2×", "not-yet": "…", late: "◷" };

/** Asks about a message, as of the moment that is shown, and shows the card: what concerns `group` first. */
export async function openWhy(key, group = null) {
  const question = { key, answer: null, problem: null };
  asked.value = question;
  shown.value = 0;
  showPanel("story");
  /** @type {{ answer?: any, problem?: string }} */
  const found = await run.why(key).then(
    (answer) => (answer ? { answer } : { problem: t("lab.why.not_recorded") }),
    ({ message }) => ({ problem: message }),
  );
  if (asked.peek() !== question) return;
  shown.value = Math.max(0, found.answer?.answers.findIndex((one) => one.group === group) ?? 0);
  asked.value = { ...question, ...found };
}

/** The button that asks, wherever a message is named. */
export const WhyButton = ({ of: key, group }) =>
  canAsk.value &&
  html`<${Button}
    class="button small-button why-button" data-why=${key} onClick=${(event) => {
      event.stopPropagation();
      event.currentTarget.closest("dialog")?.close();
      openWhy(key, group);
    }}
    label=${t("lab.why.ask_of", { key })}
  >
    ${t("lab.why.ask")}
  </${Button}>`;

export const Why = () => (asked.value ? html`<${Card} key=${asked.value.key} ...${asked.value} />` : null);

function Card({ answer, problem }) {
  const { key } = asked.value;
  const card = useRef(/** @type {any} */ (null));
  const isAnswered = Boolean(answer || problem);
  useEffect(() => {
    card.current.focus({ preventScroll: true });
    card.current.scrollIntoView({ block: "start" });
  }, [isAnswered]);
  const answers = answer?.answers ?? [];
  return html`<section
    class="why-card"
    id="why"
    tabindex="-1"
    ref=${card}
    aria-labelledby="why-title"
    aria-busy=${!isAnswered}
    ...${pointing(key)}
  >
    <h3 id="why-title">${t("lab.why.ask")} <span class="mono">${key}</span></h3>
    <${Button} class="button icon-button why-close" onClick=${() => (asked.value = null)} label=${t("lab.why.close")}>
      ✕
    </${Button}>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${!isAnswered && html`<p class="quiet" role="status">${t("lab.why.looking")}</p>`}
    ${answer && answers.length === 0 && html`<p role="status">${t("lab.why.unknown", { key })}</p>`}
    ${answers.length > 0 && html`<${Questions} answers=${answers} />`}
    ${answers.length > 0 && html`<${Answer} answer=${answers[shown.value] ?? answers[0]} messageKey=${key} />`}
    ${answer && html`<${AsOf} answer=${answer} messageKey=${key} />`}
  </section>`;
}

/** What may be asked; of one message that several groups consume also by whom. */
function Questions({ answers }) {
  const isOneGroup = new Set(answers.map(({ group }) => group)).size === 1;
  return html`<${Roving} class="button-row" role="group" aria-label=${t("lab.why.questions")}>
    ${answers.map(
      ({ question, group }, index) => html`<${Button}
        key=${`${question} ${group}`} class=${`why-question why-${question}`} data-roving
        tabindex=${index === shown.value ? 0 : -1} aria-pressed=${index === shown.value}
        onClick=${() => (shown.value = index)}
      >
        <span class="why-sign" aria-hidden="true">${SIGNS[question]}</span>
        ${t(`lab.why.question_${question.replace("-", "_")}`)}${!isOneGroup && html` <em>${group}</em>`}
      </${Button}>`,
    )}
  </${Roving}>`;
}

const shownEvent = computed(() => view.value.event);
const lastEvent = computed(() => view.value.events_total);

function Answer({ answer: { question, group, verdict, steps, omitted }, messageKey }) {
  const longest = Math.max(1, ...steps.map((step) => step.span_us ?? 0));
  const here = hereOf(question, steps);
  const [past, ahead] = [steps.filter((step) => !step.ahead), steps.filter((step) => step.ahead)];
  const list = (of) => html`<${Roving} as="ol" class="why-steps">
    ${of.map(
      (step) =>
        html`<${WhyStep}
          key=${`${step.event} ${bilingual(step.text)}`}
          step=${step}
          isHere=${step === here}
          share=${(step.span_us ?? 0) / longest}
          go=${step.event <= lastEvent.value ? show : mine.value && !isRecording() ? runTo : null}
        />`,
    )}
  </${Roving}>`;
  return html`
    <p class="why-verdict" role="status">${marked(bilingual(verdict), messageKey)}</p>
    <div class="why-head">
      <h4>${t(question === "late" ? "lab.why.spans" : "lab.why.chain")}</h4>
      ${past.length > 1 && html`<${WalkButton} key=${`${question} ${group}`} steps=${past} show=${show} />`}
    </div>
    ${list(past)}
    ${omitted > 0 && html`<p class="quiet">${t("lab.why.omitted", { n: omitted })}</p>`}
    ${ahead.length > 0 && html`<h4>${t("lab.why.ahead")}</h4>${list(ahead)}`}
  `;
}

/** The step that the world has come to. Stretches of time are not in their order: there it must be the very event. */
function hereOf(question, steps) {
  const now = shownEvent.value;
  return question === "late" ? steps.find((step) => step.event === now) : steps.findLast((step) => step.event <= now);
}

function show(step) {
  chosenEvent.value = step.event;
  scrub(step.event);
}

const runTo = ({ time_us }) => runUntil({ on: "time", node: "", contains: "", time_us });

/** The answer is as of one moment; at another moment the question can be asked again. */
function AsOf({ answer, messageKey }) {
  const isElsewhere = !isRecording() && calmView.value.event !== answer.event;
  return html`<p class="why-as-of quiet">
    ${t("lab.why.as_of", { time: virtualTime(answer.time_us) })}
    <${Button}
      class="button small-button" disabled=${!isElsewhere} onClick=${() => openWhy(messageKey)}
      title=${t("lab.why.again_hint")}
    >
      ${t("lab.why.again")}
    </${Button}>
  </p>`;
}

const marked = (text, key) =>
  text.split(key).flatMap((part, index) => (index === 0 ? [part] : [html`<strong>${key}</strong>`, part]));

/** One line to ask about any key. */
export function AskWhy() {
  const ask = sending((fields) => {
    const key = typedKey(fields.get("why-key"));
    if (key) openWhy(key);
  });
  const keys = Object.keys(calmView.value.life?.messages ?? {});
  if (keys.length === 0 || !canAsk.value) return null;
  return html`<form class="why-ask" onSubmit=${ask}>
    <label for="why-key">${t("lab.why.ask")}</label>
    <input
      type="search"
      id="why-key"
      name="why-key"
      class="input"
      list="why-keys"
      maxlength="200"
      autocomplete="off"
      spellcheck=${false}
      placeholder=${t("lab.why.key")}
    />
    <datalist id="why-keys">${keys.map((key) => html`<option key=${key} value=${key}></option>`)}</datalist>
    <button type="submit" class="button small-button">${t("lab.why.go")}</button>
  </form>`;
}
