// @ts-check
// The tabs of the page, one for each task: the panels of each, the one that is open, and its address. `?tab=messages`
// opens a tab, `#search` the tab of a panel; the browser's history remembers both.

import { html } from "htm/preact";
import { effect, signal } from "@preact/signals";
import { targetOf } from "../common/elements.js";
import { t } from "../common/i18n.js";
import { isAllowed } from "./faults/table.js";

/** Tab -> its panels, as they follow each other. Links to a panel, such as those of the verdict, name it by this id. */
export const TABS = /** @type {Record<string, string[]>} */ ({
  topics: ["stage"],
  consumers: ["groups", "internals"],
  messages: ["search", "records", "numbers"],
  "dead-letters": ["dead-letters", "transactions", "delay-levels"],
  metrics: ["plots", "replication", "log"],
  brokers: ["brokers", "broker-rates", "broker-topics", "broker-groups"],
  ...(isAllowed && { faults: ["faults"] }),
});

export const NAMES = Object.keys(TABS);

export const textOf = (/** @type {string} */ name) => t(`live.tab.${name.replaceAll("-", "_")}`);

const panelOfAddress = () => location.hash.slice(1);
const tabOf = (/** @type {string} */ panel) => NAMES.find((name) => TABS[name].includes(panel));
const tabOfAddress = () =>
  tabOf(panelOfAddress()) ?? NAMES.find((name) => name === new URLSearchParams(location.search).get("tab")) ?? NAMES[0];

/** The tab that is open: the others are not drawn. */
export const tab = signal(tabOfAddress());

const title = document.title;
effect(() => void (document.title = `${textOf(tab.value)} – ${title}`));

/**
 * @param {string} name
 * @param {string} panel Empty: the top of the tab.
 */
function open(name, panel = "") {
  const address = new URL(location.href);
  address.searchParams.set("tab", name);
  address.hash = panel;
  if (address.href !== location.href) history.pushState(null, "", address);
  tab.value = name;
}

/**
 * Opens a tab, from its top.
 *
 * @param {string} name
 */
export function openTab(name) {
  open(name);
  scrollTo({ top: 0, behavior: "instant" });
  afterDrawing(() => showChosen()?.focus({ preventScroll: true }));
}

/** Scrolls the row of tabs to the open one, where it has no room for all. */
function showChosen() {
  const chosen = document.getElementById(`tab-${tab.value}`);
  chosen?.scrollIntoView({ block: "nearest", inline: "center" });
  return chosen;
}

/**
 * Opens the tab of a panel and moves the focus to the panel, or to an element of it.
 *
 * @param {string} panel
 * @param {string} [selector]
 */
export function goTo(panel, selector = `#${panel}`) {
  open(tabOf(panel) ?? NAMES[0], panel);
  afterDrawing(() => reveal(panel, selector));
}

/** @param {string} panel @param {string} selector */
function reveal(panel, selector) {
  document.getElementById(panel)?.scrollIntoView({ block: "start" });
  /** @type {HTMLElement | null} */ (document.querySelector(selector))?.focus({ preventScroll: true });
}

/** Two frames: in the first the tab is drawn, in the second what depends on its size. @param {() => void} act */
const afterDrawing = (act) => requestAnimationFrame(() => requestAnimationFrame(act));

/** Shows the tab that the address names, and the panel, if it names one. */
export function revealAddressed() {
  const panel = panelOfAddress();
  afterDrawing(showChosen);
  if (tabOf(panel)) afterDrawing(() => reveal(panel, `#${panel}`));
}

// Links to a panel of this page, those of the verdict and of the banner of faults among them.
document.addEventListener("click", (event) => {
  const link = targetOf(event)?.closest("a");
  const panel = link?.pathname === location.pathname ? link.hash.slice(1) : "";
  if (!tabOf(panel) || isForBrowser(event)) return;
  event.preventDefault();
  goTo(panel);
});
addEventListener("popstate", () => {
  tab.value = tabOfAddress();
  revealAddressed();
});

/** Whether a click opens another tab or window of the browser. @param {MouseEvent} event */
const isForBrowser = (event) => event.ctrlKey || event.metaKey || event.shiftKey;

export function Tabs() {
  const move = (/** @type {KeyboardEvent} */ event) => {
    const at = NAMES.indexOf(tab.value);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: NAMES.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    openTab(NAMES[(to + NAMES.length) % NAMES.length]);
  };
  const choose = (/** @type {MouseEvent} */ event, /** @type {string} */ name) => {
    if (isForBrowser(event)) return;
    event.preventDefault();
    openTab(name);
  };
  return html`<div class="live-tabs" role="tablist" aria-label=${t("live.tabs")} onKeyDown=${move}>
    ${NAMES.map(
      (name) => html`<a
        role="tab"
        key=${name}
        class="tab"
        id=${`tab-${name}`}
        href=${`?tab=${name}`}
        aria-selected=${name === tab.value}
        aria-controls="tab-panel"
        tabindex=${name === tab.value ? 0 : -1}
        onClick=${(/** @type {MouseEvent} */ event) => choose(event, name)}
      >
        ${textOf(name)}
      </a>`,
    )}
  </div>`;
}
