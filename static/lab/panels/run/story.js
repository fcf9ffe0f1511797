// @ts-check
// The drawer's first panel: what to try, with buttons that do it; what the scenario is; the user's actions.

import { html } from "htm/preact";
import { computed, signal } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { commandName } from "../../../common/world/commands.js";
import { bilingual, virtualTime } from "../../../common/world/format.js";
import { undoOf } from "../../actions/undo.js";
import { command, isOver, isRecording, play, restart, run, runUntil, scrub } from "../../../common/world/session.js";
import { calmView, mine, view } from "../../../common/world/view.js";
import { Button } from "../../../parts/controls/button.js";
import { focusPanel, setDrawer, shape } from "../../../parts/controls/dock.js";
import { AskWhy, Why } from "../../../parts/messages/why.js";

/** Scenarios whose suggestion was put aside, in this visit. */
const dismissed = signal(/** @type {string[]} */ ([]));

const summary = computed(() => bilingual(view.value.summary));
const text = computed(() => bilingual(view.value.about));
const suggestion = computed(() => bilingual(view.value.suggestion));
const buttons = computed(() => view.value.try_buttons);
const scenario = computed(() => view.value.scenario);
/** The actions of users and of the story, the newest first. */
const actions = computed(() => [...calmView.value.commands].reverse());

export const Story = () => html`
  <${Why} />
  ${!dismissed.value.includes(scenario.value) && suggestion.value && html`<${Try} />`}
  <${AskWhy} />
  <div class="story-text">
    ${summary.value && html`<p class="story-summary">${summary.value}</p>`}
    <p>${text.value}</p>
    ${run?.scenario && html`<${OpenInLab} ...${run.scenario} />`}
    ${actions.value.length > 0 && html`<${Actions} />`}
  </div>
`;

/** @param {Picture.OfferedScenario} props */
const OpenInLab = ({ text: content, run: recorded, left_out: missing }) => html`
  <h3>${t("wire.lab")}</h3>
  <p>${t("wire.lab_how")} <code>glassmq lab run recorded.yaml</code></p>
  <p class="button-row try-buttons">
    <${Download} name="recorded.json" content=${recorded} label=${t("wire.download_run")} />
    <${Download} name="recorded.yaml" content=${content} label=${t("wire.download_scenario")} />
  </p>
  <p>${t("wire.left_out")}</p>
  <ul>${missing.map((one) => html`<li key=${one.en}>${bilingual(one)}</li>`)}</ul>
`;

const Download = ({ name, content, label }) => html`<a
  class="button"
  download=${name}
  href=${`data:text/plain;charset=utf-8,${encodeURIComponent(content)}`}
>
  ${label}
</a>`;

const Try = () => html`<section class="try-card" aria-label=${t("lab.list.try")}>
  <h3>${t("lab.list.try")}</h3>
  <${Button}
    class="button icon-button try-dismiss" onClick=${() => (dismissed.value = [...dismissed.peek(), scenario.peek()])}
    label=${t("lab.story.dismiss")}
  >
    ✕
  </${Button}>
  <p>${suggestion.value}</p>
  ${
    mine.value &&
    !isRecording() &&
    html`<p class="button-row try-buttons">
      ${buttons.value.map((button) => html`<${TryButton} key=${button.label.en} button=${button} />`)}
    </p>`
  }
</section>`;

/** It repairs what it has broken, as long as the run goes on: in the next one nothing is broken. */
function TryButton({ button }) {
  const { label, command: action, run_until: condition, search } = button;
  const undo = action && !isOver() && undoOf(action);
  const press = () => {
    // Over the stage the drawer would hide what is about to happen.
    if (shape.peek() === "narrow" && !search) setDrawer(false);
    if (action) doAndPlay(undo?.command ?? action);
    if (condition) runAnewUntil(condition);
    if (search) focusPanel("explorer");
  };
  return html`<${Button} onClick=${press}>${undo?.label ?? bilingual(label)}</${Button}>`;
}

function doAndPlay({ kind, target, ...values }) {
  if (isOver()) restart();
  command(kind, target, values);
  play();
}

/** A moment that is past comes again in a run that starts again. */
function runAnewUntil(condition) {
  const { time_us: now } = view.peek();
  if (isOver() || (condition.on === "time" && condition.time_us <= now)) restart();
  runUntil(condition);
}

const Actions = () => html`
  <h3>${t("lab.story.actions")}</h3>
  <ul class="actions">
    ${actions.value.map(
      (action, index) =>
        html`<li key=${actions.value.length - index}>
          <${Button} class="link-button number" onClick=${() => scrub(Number(action.event ?? 0))}>
            ${virtualTime(Number(action.time_us ?? 0))} s
          </${Button}>${" "}
          <strong>${commandName(String(action.kind))}</strong> ${action.target}
        </li>`,
    )}
  </ul>
`;
