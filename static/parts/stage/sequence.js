// @ts-check
// The sequence diagram: a lane per node, time from left to right, an arrow per frame, a bar per call of a listener, a
// dot per event, faults as flashes. It shows the last frames, and follows the run until the user goes back. Drawn
// on a canvas: there may be thousands. The chosen event's causes are drawn as a chain.

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { computed, useComputed } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { remPx } from "../../common/viewer/rem_px.js";
import { onPaint, repaint } from "../../common/world/clock.js";
import { commandName } from "../../common/world/commands.js";
import { virtualTime } from "../../common/world/format.js";
import { knownEntry, pagesVersion, wantEntries } from "../journal/pages.js";
import { labelText } from "../../common/world/labels.js";
import { scrub } from "../../common/world/session.js";
import { chosenEvent, journalVersion, nodeNames, nodes, openFrame, view, violations } from "../../common/world/view.js";
import { isEntryRelevant, onlyRelevant } from "../../common/world/relevance.js";
import { windowVersion } from "../journal/window_store.js";
import { LANE_LEAST, paintSequence } from "./sequence_paint.js";
import { endsAt, pan, shownFrames, windowAt, zoom } from "./sequence_window.js";
import { Button, MoveTool } from "../controls/button.js";
import { Switch } from "../controls/choices.js";

const CHAIN_MOST = 200;
const REACH = 9;
/** Events that a step of the arrow keys passes over at most, when only what matters is shown. */
const PASSED_MOST = 400;
/** A movement this long is a drag. */
const DRAG_PX = 40;

export function Sequence() {
  const canvas = useRef(/** @type {any} */ (null));
  const picture = useRef(/** @type {any} */ (null));
  const grabbed = useRef(/** @type {{ x: number, isDrag: boolean } | null} */ (null));
  const least = useComputed(() => (nodeNames.value.length + 1.4) * LANE_LEAST);

  // A layout effect comes before the effects of others: this painter is the first in each picture. Its letters ask for
  // styles, so that what another one had written before would be laid out once more.
  useLayoutEffect(() => {
    let isStepping = false;
    let size = {};
    const sizes = new ResizeObserver(([{ contentRect }]) => ((size = contentRect), repaint()));
    sizes.observe(canvas.current);
    const paint = (time) => {
      if (canvas.current) picture.current = paintSequence(canvas.current, sceneAt(time), size);
    };
    const stops = [
      onPaint(paint),
      ...[chosenEvent, journalVersion, pagesVersion, windowVersion, view, endsAt, onlyRelevant].map((shown) =>
        shown.subscribe(repaint),
      ),
      view.subscribe(({ playing, pace, event }) => {
        if (playing) endsAt.value = null;
        // Event by event: each is named and its causes shown, also the one at which the world stops.
        if (pace === "step" || isStepping) chosenEvent.value = event;
        isStepping = pace === "step";
      }),
    ];
    addEventListener("themechange", repaint);
    return () => (sizes.disconnect(), stops.forEach((stop) => stop()), removeEventListener("themechange", repaint));
  }, []);
  useEffect(repaint, [shownFrames()]);

  const go = (by) => pan(by, view.peek().time_us);
  const click = (event) => {
    if (grabbed.current?.isDrag) return;
    const hit = nearest(picture.current, event.offsetX, event.offsetY);
    // Of a frame whose bytes are gone only the event of its arrival is left.
    if (hit?.frame?.id) openFrame.value = hit.frame.id;
    else chosenEvent.value = hit?.frame?.event ?? hit?.call?.event ?? hit?.entry?.number ?? null;
  };
  const drag = (event) => {
    if (!grabbed.current || event.buttons === 0) return;
    const moved = event.clientX - grabbed.current.x;
    if (Math.abs(moved) < DRAG_PX) return;
    grabbed.current = { x: event.clientX, isDrag: true };
    go(moved > 0 ? -0.5 : 0.5);
  };
  const turn = (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.sign(event.deltaY));
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
      <${Matters} />
      <span class="tool-group">
        <${MoveTool} name="earlier" sign="‹" act=${() => go(-0.5)} />
        <${MoveTool} name="later" sign="›" act=${() => go(0.5)} isOff=${endsAt.value === null} />
        <${MoveTool} name="wider" sign="−" act=${() => zoom(1)} />
        <span class="number span-text">${t("word.frames", { n: shownFrames() })}</span>
        <${MoveTool} name="narrower" sign="+" act=${() => zoom(-1)} />
        <${MoveTool} name="follow" sign="⇥" act=${() => (endsAt.value = null)} isOff=${endsAt.value === null} />
      </span>
    </div>
    <div class="sequence-lanes">
      <canvas
        ref=${canvas}
        class="sequence-canvas"
        style=${{ minHeight: `${least.value / 14}rem` }}
        tabindex="0"
        role="application"
        aria-roledescription=${t("lab.sequence.role")}
        aria-label=${t("lab.sequence.label")}
        aria-describedby="sequence-chosen"
        onClick=${click}
        onPointerDown=${(event) => (grabbed.current = { x: event.clientX, isDrag: false })}
        onPointerMove=${drag}
        onWheel=${turn}
        onKeyDown=${walk}
      ></canvas>
    </div>
  </div>`;
}

/** The switch between what matters and everything; for the event log too. */
export const Matters = () =>
  html`<${Switch}
    class="matters" of=${onlyRelevant} text=${t("lab.relevance.title")} hint=${t("lab.relevance.hint")}
  />`;

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
          <${Button}
            class="link-button number" title=${t("lab.invariants.jump")}
            onClick=${() => entry.value && scrub(entry.value.number)}
          >
            #${entry.value.number}
          </${Button}>${" "}
          <span class="number quiet">${virtualTime(entry.value.time)} s</span>${" "}
          <strong>${entry.value.actor}</strong>${" "}
          ${labelText(entry.value.label)}
        `
        : html`<span class="quiet">${t("lab.sequence.hint")}</span>`
    }
  </p>`;
}

function choose(by) {
  const last = view.peek().event;
  let next = chosenEvent.peek() ?? last + (by < 0 ? 1 : 0);
  for (let passed = 0; passed < PASSED_MOST; passed += 1) {
    next += passed === 0 ? by : Math.sign(by);
    const entry = knownEntry(next);
    if (!entry || isShown(entry)) break;
  }
  chosenEvent.value = Math.min(last, Math.max(1, next));
}

function sceneAt(time) {
  const { entries, ...shown } = windowAt(time, commandTimes.peek());
  return {
    now: time,
    ...shown,
    unit: remPx.peek() / 14,
    lanes: nodeNames.peek(),
    parts: parts.peek(),
    journal: entries,
    isShown,
    isBroken,
    lastEvent: view.peek().event,
    commands: commands.peek(),
    chain: chainOf(chosenEvent.peek()),
  };
}

const isShown = (entry) => !onlyRelevant.peek() || isEntryRelevant(entry);

/** A violation is about one of its messages, and was found while it was under way. */
const isBroken = ({ keys, since_us: since, until_us: until }) =>
  violations
    .peek()
    .some(
      ({ messages = [], time_us: at }) =>
        since <= at && at <= (until ?? Infinity) && messages.some((key) => keys.includes(key)),
    );

/** Node -> "TM RM": the roles that nodes have in a transaction over several nodes. */
const parts = computed(
  () =>
    new Map(
      Object.entries(nodes.value).flatMap(([name, { xa_roles: roles }]) => (roles ? [[name, roles.join(" ")]] : [])),
    ),
);

/** @type {import("@preact/signals").ReadonlySignal<any[]>} */
const commandsOfView = computed(() => view.value.commands);
const commands = computed(() =>
  commandsOfView.value.map((command) => ({ ...command, name: `${commandName(command.kind)} ${command.target}` })),
);
const commandTimes = computed(() => commands.value.map((command) => command.time_us));

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
