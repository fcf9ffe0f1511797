// Keyboard shortcuts: single keys that do something anywhere on the page, except while one types. They can be
// switched off (WCAG 2.1.4); the key map itself opens with "?" and with its button.

import { keyMapOpen, motionWanted, paused, setMotion, setPaused, shortcuts } from "../common/cluster/view.js";

export const SECTIONS = ["stage", "internals", "plots", "groups", "records", "search", "log"];

export function goTo(section) {
  const target = document.getElementById(section);
  target?.scrollIntoView({ block: "start" });
  target?.focus({ preventScroll: true });
}

/** Key -> [its text, what it does, the section that it goes to]. */
export const SHORTCUTS = new Map([
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
  ["n", ["keys.newest", () => document.querySelector(".strip .block[tabindex='0']")?.focus()]],
  ["t", ["keys.theme", nextTheme]],
  ...SECTIONS.map((section, index) => [String(index + 1), [null, () => goTo(section), section]]),
]);

function nextTheme() {
  const { themes, choose } = window.glassmqTheme;
  const now = document.documentElement.dataset.themeChoice;
  choose(themes[(themes.indexOf(now) + 1) % themes.length]);
}

export function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (shortcuts.value !== "on") return;
    if (event.key === "?") keyMapOpen.value = true;
    else if (SHORTCUTS.has(event.key)) SHORTCUTS.get(event.key)[1]();
    else return;
    event.preventDefault();
  });
}

function isTyping(target) {
  return target.matches?.("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]") ?? false;
}
