// The sequence diagram: a lane per node, virtual time from left to right, an arrow per frame, a dot per event, faults
// as flashes. Drawn on a canvas: there may be thousands. The chosen event's causes are drawn as a chain.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { signal, useComputed, useSignal } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { remPx } from "../../../live/lane_axis.js";
import { onPaint, repaint } from "../../clock.js";
import { commandName } from "../../commands.js";
import { span, virtualTime } from "../../format.js";
import { knownEntry, pagesVersion, wantEntries } from "../../journal_pages.js";
import { labelText } from "../../labels.js";
import { scrub } from "../../session.js";
import { chosenEvent, journalVersion, nodeNames, nodes, openFrame, view } from "../../view.js";
import { windowOf, windowVersion } from "../../window_store.js";
import { frameName } from "./flights.js";
import { paintSequence } from "./sequence_paint.js";

const SPANS_US = [2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 3e7, 6e7];
const CHAIN_MOST = 200;
const REACH = 9;

/** Which of SPANS_US the diagram shows. */
const spanIndex = signal(5);

/** Zooms so that at least `us` are seen. */
export function fitSpan(us) {
  const fits = SPANS_US.findIndex((length) => length >= us);
  spanIndex.value = fits < 0 ? SPANS_US.length - 1 : fits;
}

export function Sequence() {
  const canvas = useRef(null);
  const panUs = useSignal(0);
  const picture = useRef(null);
  const follow = useComputed(() => (view.value.playing ? 0 : panUs.value));

  useEffect(() => {
    const sizes = new ResizeObserver(repaint);
    sizes.observe(canvas.current);
    const paint = (time) => {
      if (canvas.current)
        picture.current = paintSequence(canvas.current, sceneAt(time, SPANS_US[spanIndex.peek()], follow.peek()));
    };
    const stops = [
      onPaint(paint),
      ...[chosenEvent, journalVersion, pagesVersion, windowVersion, view, spanIndex, panUs].map((shown) =>
        shown.subscribe(repaint),
      ),
    ];
    addEventListener("themechange", repaint);
    return () => (sizes.disconnect(), stops.forEach((stop) => stop()), removeEventListener("themechange", repaint));
  }, []);

  const zoom = (by) => (spanIndex.value = Math.min(SPANS_US.length - 1, Math.max(0, spanIndex.value + by)));
  const pan = (share) =>
    (panUs.value = Math.max(-view.peek().time_us, Math.min(0, panUs.value + share * SPANS_US[spanIndex.value])));
  const click = (event) => {
    const hit = nearest(picture.current, event.offsetX, event.offsetY);
    // Of a frame whose bytes are gone only the event of its arrival is left.
    if (hit?.frame?.id) openFrame.value = hit.frame.id;
    else chosenEvent.value = hit?.frame?.event ?? hit?.entry?.number ?? null;
  };
  const walk = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
    if (by) choose(by);
    else if (event.key === "+" || event.key === "=") zoom(-1);
    else if (event.key === "-") zoom(1);
    else if (event.key === "Enter" && chosenEvent.value) scrub(chosenEvent.value);
    else return;
    event.preventDefault();
  };
  return html`<div class="sequence">
    <div class="panel-tools">
      <${Chosen} />
      <span class="legend" aria-hidden="true">
        ${["request", "response", "oneway", "lost"].map(
          (shape) =>
            html`<span key=${shape} class=${`legend-item frame-${shape}`}>
              <span class="frame-sign">${shape === "lost" ? "✕" : ""}</span>${t(`lab.sequence.${shape}`)}
            </span>`,
        )}
      </span>
      <span class="tool-group">
        <button
          type="button"
          class="button icon-button"
          onClick=${() => pan(-0.5)}
          aria-label=${t("lab.sequence.earlier")}
          title=${t("lab.sequence.earlier")}
        >
          ‹
        </button>
        <button
          type="button"
          class="button icon-button"
          onClick=${() => pan(0.5)}
          disabled=${follow.value === 0}
          aria-label=${t("lab.sequence.later")}
          title=${t("lab.sequence.later")}
        >
          ›
        </button>
        <button
          type="button"
          class="button icon-button"
          onClick=${() => zoom(1)}
          aria-label=${t("lab.sequence.wider")}
          title=${t("lab.sequence.wider")}
        >
          −
        </button>
        <span class="number span-text">${span(SPANS_US[spanIndex.value])}</span>
        <button
          type="button"
          class="button icon-button"
          onClick=${() => zoom(-1)}
          aria-label=${t("lab.sequence.narrower")}
          title=${t("lab.sequence.narrower")}
        >
          +
        </button>
      </span>
    </div>
    <canvas
      ref=${canvas}
      class="sequence-canvas"
      tabindex="0"
      role="application"
      aria-roledescription=${t("lab.sequence.role")}
      aria-label=${t("lab.sequence.label")}
      aria-describedby="sequence-chosen"
      onClick=${click}
      onKeyDown=${walk}
    ></canvas>
  </div>`;
}

/** What the chosen event was, for eyes and screen readers. */
function Chosen() {
  const entry = useComputed(
    () => (
      void [journalVersion.value, pagesVersion.value],
      chosenEvent.value === null ? null : (knownEntry(chosenEvent.value) ?? null)
    ),
  );
  useEffect(() => {
    if (chosenEvent.value !== null && entry.value === null) wantEntries(chosenEvent.value, chosenEvent.value);
  }, [chosenEvent.value, entry.value]);
  return html`<p class="sequence-chosen ellipsis" id="sequence-chosen" aria-live="polite">
    ${
      entry.value
        ? html`
          <button
            type="button"
            class="link-button number"
            onClick=${() => scrub(entry.value.number)}
            title=${t("lab.log.go")}
          >
            #${entry.value.number}
          </button>${" "}
          <span class="number quiet">${virtualTime(entry.value.time)} s</span>${" "}
          <strong>
            ${entry.value.actor}
          </strong>${" "}
          ${labelText(entry.value.label)}
        `
        : html`<span class="quiet">${t("lab.sequence.hint")}</span>`
    }
  </p>`;
}

function choose(by) {
  const last = view.peek().event;
  chosenEvent.value = Math.min(last, Math.max(1, (chosenEvent.peek() ?? last + (by < 0 ? 1 : 0)) + by));
}

function sceneAt(time, spanUs, pan) {
  const [left, right] = [time + pan - spanUs * 0.94, time + pan + spanUs * 0.06];
  const { entries, frames } = windowOf(left, right);
  return {
    now: time,
    left,
    right,
    unit: remPx.peek() / 14,
    lanes: nodeNames.peek(),
    parts: partsOf(nodes.peek()),
    journal: entries,
    frames,
    lastEvent: view.peek().event,
    commands: commandsOf(view.peek()),
    chain: chainOf(chosenEvent.peek()),
    frameName,
  };
}

/** Node -> "TM RM": the parts that nodes play in a transaction over several nodes. */
const partsOf = (known) =>
  new Map(Object.entries(known).flatMap(([name, { xa_roles: parts }]) => (parts ? [[name, parts.join(" ")]] : [])));

const commandsOf = ({ commands }) =>
  commands.map((command) => ({ ...command, name: `${commandName(command.kind)} ${command.target}` }));

/** The chosen event and what caused it, back to the outside world. */
function chainOf(number) {
  const chain = [];
  let entry = number === null ? undefined : knownEntry(number);
  while (entry && chain.length < CHAIN_MOST) {
    chain.push(entry);
    if (entry.cause > 0 && !knownEntry(entry.cause)) wantEntries(entry.cause, entry.cause);
    entry = knownEntry(entry.cause);
  }
  return chain;
}

function nearest(picture, x, y) {
  let best = null;
  let least = REACH ** 2;
  for (const spot of picture?.spots ?? []) {
    const distance = (spot.x - x) ** 2 + (spot.y - y) ** 2;
    if (distance < least) [best, least] = [spot, distance];
  }
  return best;
}
