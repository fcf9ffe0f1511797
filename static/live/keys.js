// @ts-check
// Keyboard shortcuts: single keys that do something anywhere on the page, except while one types. They can be
// switched off (WCAG 2.1.4); the key map itself opens with "?" and with its button.

import { targetOf } from "../common/elements.js";
import { t } from "../common/i18n.js";
import { keyMapOpen, shortcuts } from "../common/viewer/choices.js";
import { motionWanted, setMotion } from "../common/viewer/motion.js";
import { paused } from "../common/viewer/paused.js";
import { setPaused } from "../common/cluster/view.js";
import { goTo, NAMES, openTab, textOf } from "./tabs.js";

/** By key: its text, and what it does. */
const SHORTCUTS = new Map(
  /** @type {[string, [text: string, act: () => void]][]} */ ([
    ["p", [t("keys.pause"), () => setPaused(!paused.value)]],
    ["m", [t("keys.motion"), () => setMotion(!motionWanted.value)]],
    ["/", [t("keys.filter"), () => goTo("stage", "#topic-filter")]],
    ["s", [t("word.find_message"), () => goTo("search", "#search-text")]],
    ["n", [t("keys.newest"), () => goTo("stage", ".strip .block[tabindex='0']")]],
    ["t", [t("keys.theme"), nextTheme]],
    ...NAMES.map((name, index) => [String(index + 1), [t("word.go_to", { name: textOf(name) }), () => openTab(name)]]),
  ]),
);

/** What the key map shows. @returns {[key: string, text: string][]} */
export const keyRows = () => [
  ...[...SHORTCUTS].map(([key, [text]]) => /** @type {[string, string]} */ ([key, text])),
  ["← →", t("keys.walk")],
  ["Enter", t("keys.inspect")],
];

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
