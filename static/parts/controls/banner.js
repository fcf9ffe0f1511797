// @ts-check
// What a user must know before acting: this is the past; why play stopped; the world is being rebuilt; it is another
// run than the recorded one. It covers the stage without moving anything; the caption describes a violation.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { bilingual } from "../../common/world/format.js";
import { fork, isRecording, scrub } from "../../common/world/session.js";
import { mine, notice, view } from "../../common/world/view.js";
import { WhyButton } from "../messages/why.js";
import { Button } from "./button.js";
import { showPanel } from "./dock.js";

export function Banner() {
  const inPast = useComputed(() => view.value.in_past);
  const stopped = useComputed(() => view.value.stopped_by);
  const differs = useComputed(() => view.value.differs);
  const busy = useComputed(() => view.value.busy);
  const event = useComputed(() => view.value.event);
  const total = useComputed(() => view.value.events_total);
  if (busy.value) {
    const { event: at = 0, target = 0 } = busy.value;
    return html`<div class="banner" role="status">
      <span>${t(`lab.busy.${busy.value.kind.replace("-", "_")}`)}</span>
      <progress max=${Math.max(1, target ?? 1)} value=${at ?? 0} aria-label=${t("lab.explorer.progress")}></progress>
    </div>`;
  }
  if (!mine.value) {
    return html`<div class="banner" id="viewer-banner" role="status">
      <span>${t("lab.error.not_yours")}</span>
      <${Button} class="button small-button" onClick=${fork}>${t("lab.controls.fork")}</${Button}>
    </div>`;
  }
  if (inPast.value && !isRecording()) {
    return html`<div class="banner banner-past" id="past-banner" role="status">
      <strong>${t("lab.past.title")}</strong>${" "}
      <span title=${t("lab.past.text", { event: count(event.value), total: count(total.value) })}>
        ${t("lab.controls.event_of", { event: count(event.value), total: count(total.value) })}
      </span>
      <${Button} class="button small-button" onClick=${() => scrub(total.peek())}>${t("lab.past.back")}</${Button}>
      <${Button} class="button small-button" onClick=${fork}>${t("lab.past.fork")}</${Button}>
      ${differs.value && html`<${Difference} text=${differs.value} />`}
    </div>`;
  }
  // That a run is over is said by what offers to begin again.
  if (stopped.value && stopped.value.kind !== "over" && !view.value.playing) {
    const { kind, text, messages = [], element = {} } = stopped.value;
    return html`<div class=${`banner banner-${kind}`} id="stop-banner" role="status">
      <strong>${t(`lab.stopped.${kind}`)}</strong> <span>${kind !== "violation" && bilingual(text)}</span>
      ${
        kind === "violation" &&
        html`<${Button} class="button small-button" onClick=${() => showPanel("invariants")}>
          ${t("lab.stopped.show")}
        </${Button}>`
      }
      ${messages[0] && html`<${WhyButton} of=${messages[0]} group=${element.group} />`}
    </div>`;
  }
  return differs.value && html`<div class="banner" role="status"><${Difference} text=${differs.value} /></div>`;
}

/** @param {{ text: Record<string, string> }} props */
function Difference({ text }) {
  return html`<span id="difference"><strong>${t("lab.stopped.differs")}</strong> ${bilingual(text)}</span>`;
}

export function Notice() {
  return html`<div
    class=${`notice ${notice.value?.isProblem ? "notice-problem" : ""} ${notice.value ? "is-shown" : ""}`}
    id="notice"
    role="status"
    aria-live="polite"
  >
    ${notice.value?.text ?? ""}
  </div>`;
}
