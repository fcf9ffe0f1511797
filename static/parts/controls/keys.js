// @ts-check
// Keyboard shortcuts of the lab: single keys anywhere on the page, except while the user types or moves inside a
// widget.

import { allOf, targetOf } from "../../common/elements.js";
import { t } from "../../common/i18n.js";
import { keyMapOpen, shortcuts } from "../../common/viewer/choices.js";
import { present, presenting, togglePresentation } from "../stage/presentation.js";
import { focusPanel } from "./dock.js";
import { fork, restart, scrub, setSpeed, step, stepActor, stepBack, togglePlay } from "../../common/world/session.js";
import { SPEEDS } from "./time_buttons.js";
import { openWhy } from "../messages/why.js";
import { pointedKey } from "../../common/viewer/pointed.js";
import { view } from "../../common/world/view.js";

/**
 * The next speed up or down; from "auto" on: from how fast time passes now.
 *
 * @param {1 | -1} by
 */
function changeSpeed(by) {
  const { speed, speed_now: now } = view.peek();
  const here = typeof speed === "number" ? speed : (now ?? 1);
  const next = by > 0 ? SPEEDS.find((one) => one > here * 1.01) : SPEEDS.findLast((one) => one < here * 0.99);
  setSpeed(next ?? SPEEDS.at(by > 0 ? -1 : 0));
}

function stepNextActor() {
  const { next } = view.peek();
  if (next) stepActor(next.actor);
}

function askWhy() {
  const key = pointedKey.peek();
  if (key) openWhy(key);
  else focusPanel("story", "#why-key");
}

/**
 * By key: its text, or the name of the panel that it goes to; what it does.
 *
 * @type {Map<string, [text: string, act: () => void]>}
 */
const SHORTCUTS = new Map([
  [" ", ["lab.keys.play", togglePlay]],
  [".", ["lab.controls.step", step]],
  [",", ["lab.controls.back", stepBack]],
  ["a", ["lab.controls.actor", stepNextActor]],
  ["u", ["lab.keys.run_until", () => document.getElementById("run-until")?.click()]],
  ["]", ["lab.keys.faster", () => changeSpeed(1)]],
  ["[", ["lab.keys.slower", () => changeSpeed(-1)]],
  ["Home", ["lab.keys.first", () => scrub(0)]],
  ["End", ["lab.keys.last", () => scrub(view.peek().events_total)]],
  ["f", ["lab.present.title", togglePresentation]],
  ["b", ["lab.past.fork", fork]],
  ["r", ["word.restart", restart]],
  ["c", ["lab.share.heading", () => document.getElementById("share")?.click()]],
  ["n", ["lab.keys.nodes", () => allOf(".node")[0]?.focus()]],
  ["e", ["lab.panel.frames", () => focusPanel("frames")]],
  ["d", ["lab.panel.sequence", () => focusPanel("sequence", "[role=application]")]],
  ["l", ["lab.keys.log", () => focusPanel("log", "#log-filter")]],
  ["s", ["lab.panel.source", () => focusPanel("source")]],
  ["i", ["lab.panel.invariants", () => focusPanel("invariants")]],
  ["t", ["lab.panel.timers", () => focusPanel("timers")]],
  ["x", ["lab.panel.faults", () => focusPanel("faults")]],
  ["g", ["lab.panel.settings", () => focusPanel("settings")]],
  ["w", ["lab.keys.why", askWhy]],
]);

/** What the key map shows. @returns {[key: string, text: string][]} */
export const keyRows = () => [
  ...[...SHORTCUTS].map(
    ([key, [text]]) =>
      /** @type {[string, string]} */ ([
        key === " " ? t("lab.keys.space") : key,
        text.startsWith("lab.panel.") ? t("word.go_to", { name: t(text) }) : t(text),
      ]),
  ),
  ["Page Down Page Up", t("lab.keys.page")],
  ["← →", t("lab.keys.walk")],
  ["+ −", t("lab.keys.zoom")],
  ["Enter", t("lab.keys.open")],
];

/** Keys that page through a presentation, as those of a remote control do -> by how many pages.
    @type {Record<string, number>} */
const PAGES = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };

/** What moves something of its own by these keys. */
const USERS_OF_PAGES = "input, select, textarea, [role=tab], [role=application], [tabindex='0']:not(#stage)";

/** A page is an event of the world, unless `turn(by)` knows better what the page keys turn.
    @param {KeyboardEvent} event @param {((by: number) => void) | null} turn */
function turnByKey(event, turn) {
  const by = PAGES[event.key];
  if (!by || targetOf(event)?.closest(USERS_OF_PAGES)) return false;
  if (turn && event.key.startsWith("Page")) turn(by);
  else if (by > 0) step();
  else stepBack();
  return true;
}

/** @param {((by: number) => void) | null} turn */
export function listenToKeys(turn = null) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (presenting.peek()) {
      const isEscape = event.key === "Escape";
      if (isEscape) present(false);
      if (isEscape || turnByKey(event, turn)) return event.preventDefault();
    }
    if (shortcuts.value !== "on" || isBusy(event)) return;
    if (event.key === "?") keyMapOpen.value = true;
    else {
      const [, act] = SHORTCUTS.get(event.key) ?? [];
      if (!act) return;
      act();
    }
    event.preventDefault();
  });
}

/**
 * Typing goes into fields; the space bar presses the button that has the focus; Home and End belong to widgets.
 *
 * @param {KeyboardEvent} event
 */
function isBusy(event) {
  const { key } = event;
  const target = targetOf(event);
  if (
    target?.matches(
      "input:not([type=radio]):not([type=checkbox]):not([type=range]), textarea, select, [contenteditable]",
    )
  )
    return true;
  if (key === " ") return target?.matches("button, a, summary, [role=tab], input") ?? false;
  return (
    (key === "Home" || key === "End") &&
    (target?.matches("input, [role=tab], [role=application], [data-roving]") ?? false)
  );
}
