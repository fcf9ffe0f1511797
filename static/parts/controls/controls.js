// @ts-check
// What moves time, next to the sequence: restart, step back, play, step, run until, speed, the scrub bar, fork.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { onPaint } from "../../common/world/clock.js";
import { virtualTime } from "../../common/world/format.js";
import {
  fork,
  isRecording,
  restart,
  scrub,
  setSpeed,
  step,
  stepActor,
  stepBack,
  togglePlay,
} from "../../common/world/session.js";
import { loaded, mine, view, violations } from "../../common/world/view.js";
import { Button } from "./button.js";
import { Icon } from "./icons.js";
import { RunUntil } from "./run_until.js";
import { Speed, TimeButton, TimeButtons } from "./time_buttons.js";

export function Controls() {
  return html`<section class="controls-bar panel" aria-label=${t("word.time")}>
    <div class="control-buttons"><${Buttons} /><${RunUntil} /></div>
    <${Speed}
      id="speed"
      speed=${useComputed(() => view.value.speed).value}
      why=${useComputed(() => view.value.pace).value}
      choose=${setSpeed}
    />
    <${Scrub} />
    <${Place} />
  </section>`;
}

const ACTIONS = { restart, back: stepBack, play: togglePlay, step };

const stepNextActor = () => stepActor(view.peek().next?.actor ?? null);

function Buttons() {
  const playing = useComputed(() => view.value.playing);
  const isOver = useComputed(() => view.value.is_over && !view.value.in_past);
  const atStart = useComputed(() => view.value.event === 0);
  const hasNext = useComputed(() => view.value.next !== null);
  const off = !loaded.value;
  const stands = { playing: playing.value, atStart: atStart.value, isOver: isOver.value, off };
  const stepNext = { name: "actor", letter: "a", isOff: off || !hasNext.value, act: stepNextActor };
  return html`
    <${TimeButtons} of="controls" actions=${ACTIONS} ...${stands} />
    ${!isRecording() && html`<${TimeButton} of="controls" ...${stepNext} />`}
  `;
}

function Scrub() {
  const event = useComputed(() => view.value.event);
  const total = useComputed(() => Math.max(view.value.events_total, view.value.event));
  const dragged = useSignal(/** @type {number | null} */ (null));
  // The later ones cover the earlier ones.
  const marks = useComputed(() => {
    const { calls, commands, stopped_by: stopped } = view.value;
    return [
      ...calls.map((call) => ({ kind: "call", at: call.event })),
      ...commands.map((command) => ({ kind: "fault", at: Number(command.event) })),
      ...(stopped?.kind === "breakpoint" ? [{ kind: "breakpoint", at: total.value }] : []),
      ...violations.value.map((violation) => ({ kind: "violation", at: violation.event })),
    ];
  });
  const shown = dragged.value ?? event.value;
  return html`<div class="scrub">
    <input
      type="range"
      id="scrub"
      min="0"
      max=${Math.max(1, total.value)}
      step="1"
      value=${shown}
      aria-label=${t("lab.controls.scrub")}
      aria-valuetext=${t("lab.controls.event_of", { event: count(shown), total: count(total.value) })}
      onInput=${(/** @type {FieldEvent} */ change) => scrub((dragged.value = Number(change.currentTarget.value)))}
      onChange=${() => (dragged.value = null)}
    />
    <span class="scrub-marks" aria-hidden="true">
      ${marks.value.map(
        ({ kind, at }, index) => html`<span
          key=${index}
          class=${`scrub-mark scrub-${kind}`}
          style=${{ left: `${(100 * at) / Math.max(1, total.value)}%` }}
        ></span>`,
      )}
    </span>
  </div>`;
}

function Place() {
  const event = useComputed(() => view.value.event);
  const total = useComputed(() => view.value.events_total);
  const inPast = useComputed(() => view.value.in_past);
  return html`<div class="place">
    <span class="place-figures">
      <span class="clock"><${Clock} /></span>
      <span class="quiet number" id="event-number" data-event=${event.value}>
        ${t("lab.controls.event_of", { event: count(event.value), total: count(total.value) })}
      </span>
    </span>
    <${Button}
      class=${`button icon-button fork-button ${inPast.value ? "button-primary" : ""}`} id="control-fork"
      disabled=${(!inPast.value && mine.value) || isRecording()} onClick=${fork}
      title=${`${t("lab.controls.fork_hint")} (b)`} label=${t("lab.controls.fork")}
    >
      <${Icon} name="fork" />
    </${Button}>
  </div>`;
}

/** How often the clock shows another time while it runs: each lays out the bar again, and nobody reads it quicker. */
const CLOCK_EVERY_MS = 100;

/** Virtual time, written straight into the one text node of the document. It rests at the time of the view. */
function Clock() {
  const text = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    let writtenAt = -CLOCK_EVERY_MS;
    return onPaint((time) => {
      const now = performance.now();
      if (!text.current?.firstChild || (now - writtenAt < CLOCK_EVERY_MS && time !== view.peek().time_us)) return;
      writtenAt = now;
      text.current.firstChild.nodeValue = `${virtualTime(time)} s`;
    });
  }, []);
  return html`<span class="number" id="virtual-time" ref=${text} title=${t("lab.controls.time")}>${" "}</span>`;
}
