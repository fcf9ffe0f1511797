// @ts-check
// Keyboard shortcuts: single keys that do something anywhere on the page, except while one types. They can be
// switched off (WCAG 2.1.4); the key map itself opens with "?" and with its button.

import { allOf, targetOf } from "../common/elements.js";
import { keyMapOpen, motionWanted, paused, setMotion, setPaused, shortcuts } from "../common/cluster/view.js";

export const SECTIONS = ["stage", "internals", "plots", "groups", "records", "search", "log"];

/** @param {string} section */
export function goTo(section) {
  const target = document.getElementById(section);
  target?.scrollIntoView({ block: "start" });
  target?.focus({ preventScroll: true });
}

/** @typedef {[text: string | null, act: () => void, section?: string]} Shortcut */

/** By key: its text, what it does, the section that it goes to. */
export const SHORTCUTS = new Map(
  /** @type {[string, Shortcut][]} */ ([
    ["p", ["keys.pause", () => setPaused(!paused.value)]],
    ["m", ["keys.motion", () => setMotion(!motionWanted.value)]],
    ["/", ["keys.filter", () => document.getElementById("topic-filter")?.focus()]],
    [
      "s",
      [
        "word.find_message",
        () => {
          goTo("search");
          document.getElementById("search-text")?.focus();
        },
      ],
    ],
    ["n", ["keys.newest", () => allOf(".strip .block[tabindex='0']")[0]?.focus()]],
    ["t", ["keys.theme", nextTheme]],
    ...SECTIONS.map((section, index) => [String(index + 1), [null, () => goTo(section), section]]),
  ]),
);

function nextTheme() {
  const { themes, choose } = window.glassmqTheme;
  const now = document.documentElement.dataset.themeChoice ?? "";
  choose(themes[(themes.indexOf(now) + 1) % themes.length]);
}

export function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    if (document.querySelector("dialog[open]")) return;
    if (shortcuts.value !== "on") return;
    if (event.key === "?") keyMapOpen.value = true;
    else {
      const [, act] = SHORTCUTS.get(event.key) ?? [];
      if (!act) return;
      act();
    }
    event.preventDefault();
  });
}

/** @param {KeyboardEvent} event */
const isTyping = (event) =>
  targetOf(event)?.matches("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]");
