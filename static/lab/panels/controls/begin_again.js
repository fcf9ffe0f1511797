// A run that has come to its end offers to begin again; it lies over the stage, where nothing moves any more.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { isRecording, play, restart, scrub } from "../../session.js";
import { mine, view } from "../../view.js";
import { Icon } from "./icons.js";

export function BeginAgain() {
  const isOver = useComputed(() => {
    const { is_over: over, in_past: inPast, playing, busy, event } = view.value;
    return over && !inPast && !playing && busy === null && event > 0 && mine.value;
  });
  if (!isOver.value) return null;
  if (isRecording())
    return html`<div class="begin-again" id="begin-again">
      <strong>${t("lab.again.recording_over")}</strong>
      <button type="button" class="button button-primary" onClick=${() => (restart(), play())}>
        <${Icon} name="play" />${t("lab.again.replay")}
      </button>
    </div>`;
  return html`<div class="begin-again" id="begin-again">
    <strong>${t("lab.again.over")}</strong>
    <button type="button" class="button button-primary" onClick=${restart} title=${`${t("lab.again.hint")} (r)`}>
      <${Icon} name="restart" />${t("lab.again.begin")} <kbd>r</kbd>
    </button>
    <button type="button" class="button" onClick=${() => scrub(0)} title=${`${t("lab.again.look_hint")} (Home)`}>
      ${t("lab.again.look")}
    </button>
  </div>`;
}
