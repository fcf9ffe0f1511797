// @ts-check
// Before a run has begun its large button is in the middle of the stage; one that has come to its end offers to
// begin again. Both cover the stage, where nothing moves.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { labData } from "../../../common/world/commands.js";
import { bilingual } from "../../../common/world/format.js";
import { isRecording, play, restart, scrub } from "../../../common/world/session.js";
import { mine, view } from "../../../common/world/view.js";
import { Button } from "../../../parts/controls/button.js";
import { Icon } from "../../../parts/controls/icons.js";

export function Begin() {
  const isAtStart = useComputed(() => {
    const { event, in_past: inPast, playing, busy } = view.value;
    return event === 0 && !inPast && !playing && busy === null && mine.value;
  });
  if (!isAtStart.value) return null;
  return html`<div class="begin-again begin" id="begin">
    <${Poster} />
    <${Button} class="button button-primary" onClick=${play} title=${t("lab.keys.space")}>
      <${Icon} name="play" />${t("lab.controls.play")}
    </${Button}>
    <p>${bilingual(view.value.summary)}</p>
  </div>`;
}

/** What will be on the stage at the moment that the scenario is about: one that begins is empty. */
function Poster() {
  const { pictures = {}, shows } = labData.poster ?? {};
  return Object.entries(pictures).map(
    ([theme, path]) =>
      html`<img
        key=${theme}
        class=${`poster in-${theme}`}
        loading="lazy"
        src=${path}
        width="480"
        height="300"
        alt=${bilingual(shows)}
        title=${bilingual(shows)}
      />`,
  );
}

/** In place of the stage until the world is there; the picture appears where that takes long, as on the site. */
export function Waiting() {
  const { pictures = {}, shows } = labData.poster ?? {};
  const hasPicture = Object.keys(pictures).length > 0;
  const caption = html`<figcaption>${bilingual(shows)}</figcaption>`;
  return html`<div class="stage-frame">
    <p class="loading">${t("live.waiting")}</p>
    ${hasPicture && html`<figure class="waiting-picture"><${Poster} />${caption}</figure>`}
  </div>`;
}

export function BeginAgain() {
  const isOver = useComputed(() => {
    const { is_over: over, in_past: inPast, playing, busy, event } = view.value;
    return over && !inPast && !playing && busy === null && event > 0 && mine.value;
  });
  if (!isOver.value) return null;
  if (isRecording())
    return html`<div class="begin-again" id="begin-again">
      <strong>${t("lab.again.recording_over")}</strong>
      <${Button} class="button button-primary" onClick=${() => (restart(), play())}>
        <${Icon} name="play" />${t("lab.again.replay")}
      </${Button}>
    </div>`;
  return html`<div class="begin-again" id="begin-again">
    <strong>${t("lab.stopped.over")}</strong>
    <${Button} class="button button-primary" onClick=${restart} title=${`${t("lab.again.hint")} (r)`}>
      <${Icon} name="restart" />${t("word.restart")} <kbd>r</kbd>
    </${Button}>
    <${Button} onClick=${() => scrub(0)} title=${`${t("lab.again.look_hint")} (Home)`}>
      ${t("lab.again.look")}
    </${Button}>
  </div>`;
}
