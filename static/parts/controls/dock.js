// @ts-check
// The drawer next to the stage, and groups of tabs. What everyone needs comes first; internals are
// shown with the switch "Expert". In a narrow window the drawer covers the stage, and is closed at first.

import { html } from "htm/preact";
import { computed, effect, signal } from "@preact/signals";
import { allOf } from "../../common/elements.js";
import { t } from "../../common/i18n.js";
import { keep, kept } from "../../common/viewer/kept.js";
import { canCompare } from "../analysis/compare.js";
import { isRecording } from "../../common/world/session.js";
import { calmView, framesUnderWay, runningTimers, violations } from "../../common/world/view.js";
import { isProjector, presenting } from "../stage/presentation.js";
import { Button } from "./button.js";
import { Icon } from "./icons.js";

const FIRST = ["story", "invariants", "faults"];
const MORE = ["money", "xa", "backlog", "compare", "life", "log", "explorer"];
const EXPERT = ["source", "timers", "actors", "settings", "frames"];

/** Panels that only some worlds have. @type {Record<string, import("@preact/signals").ReadonlySignal<boolean>>} */
const OPTIONAL = {
  backlog: computed(() => calmView.value.backlog !== null),
  compare: canCompare,
  explorer: computed(() => !isRecording()),
  money: computed(() => calmView.value.money !== null),
  xa: computed(() => calmView.value.xa !== null),
};
/** @param {string} name */
const isThere = (name) => OPTIONAL[name]?.value ?? true;

// ------------------------------------------------------------------------------------------------ the window

const isWide = matchMedia("(min-width: 1200px)");
// In a frame of another page there is nothing to scroll for: the stage stays a picture that fits as long as it can.
const isPhone = matchMedia(
  document.body.classList.contains("is-embedded") ? "(max-width: 439px)" : "(max-width: 699px)",
);
/** "wide": the drawer is next to the stage. "narrow": it covers the stage. "phone": everything is one column. */
export const shape = signal(fittingShape());

function fittingShape() {
  return isPhone.matches ? "phone" : isWide.matches ? "wide" : "narrow";
}
for (const query of [isWide, isPhone])
  query.addEventListener("change", () => {
    shape.value = fittingShape();
    drawerOpen.value = wasOpen();
  });

/** Entries of a consume queue that are drawn: big letters leave room for fewer. */
export const entriesShown = computed(() => (isProjector.value || presenting.value ? 6 : 12));

// ------------------------------------------------------------------------------------------------ what is open

/** @typedef {Record<string, () => any>} Panels By name. */

const DRAWER_KEY = "glassmq.lab.drawer";
const EXPERT_KEY = "glassmq.lab.expert";

export const expert = signal(kept(EXPERT_KEY) === "yes");
export const drawerOpen = signal(wasOpen());

function wasOpen() {
  if (presenting.peek()) return false;
  return shape.peek() === "phone" || (shape.peek() === "wide" && kept(DRAWER_KEY) !== "closed");
}

/** @param {boolean} on */
function setExpert(on) {
  expert.value = on;
  keep(EXPERT_KEY, on ? "yes" : "no");
}

/** @param {boolean} open */
export function setDrawer(open) {
  drawerOpen.value = open;
  if (shape.peek() === "wide" && !presenting.peek()) keep(DRAWER_KEY, open ? "open" : "closed");
}

/** The panels below a lesson's stage: open, or only their tabs, until one is chosen. In a presentation of the lab: the
    sequence. */
export const dockOpen = signal(!presenting.peek());

// A presentation begins with nothing next to the stage.
let isPresented = presenting.peek();
effect(() => {
  if (presenting.value === isPresented) return;
  isPresented = presenting.value;
  dockOpen.value = !isPresented;
  drawerOpen.value = wasOpen();
});

/** Names of panels, the one that was chosen last first: a group shows its first. */
const chosen = signal(/** @type {string[]} */ ([]));

/**
 * Shows a panel, wherever it is kept.
 *
 * @param {string} name
 */
export function showPanel(name) {
  if (EXPERT.includes(name) && !expert.peek() && document.querySelector(".drawer")) setExpert(true);
  if (chosen.peek()[0] !== name) chosen.value = [name, ...chosen.peek().filter((other) => other !== name)];
  if (name !== "sequence" && !drawerOpen.peek()) setDrawer(true);
  dockOpen.value = true;
}

/**
 * Shows a panel and moves the focus to it.
 *
 * @param {string} name
 * @param {string} [selector] To the element of it inside.
 */
export function focusPanel(name, selector) {
  showPanel(name);
  requestAnimationFrame(() => {
    const panel = document.getElementById(`panel-${name}`);
    panel?.scrollIntoView({ block: "nearest" });
    const inside = panel && selector ? allOf(selector, HTMLElement, panel)[0] : panel;
    inside?.focus();
  });
}

// ------------------------------------------------------------------------------------------------ drawn

/** The drawer with its tabs; closed, only its first tabs are shown over the stage.
    @param {{ panels: Panels }} props */
export function Drawer({ panels }) {
  const rows = [FIRST, MORE.filter(isThere), ...(expert.value ? [EXPERT] : [])];
  if (!drawerOpen.value) {
    return html`<nav class="drawer-closed" aria-label=${t("lab.drawer.title")}>
      ${FIRST.map(
        (name) => html`<${Button} key=${name} onClick=${() => showPanel(name)}><${TabText} name=${name} /></${Button}>`,
      )}
      <${Button}
        class="button icon-button" id="drawer-open" onClick=${() => setDrawer(true)} label=${t("lab.drawer.open")}
      >
        ‹
      </${Button}>
    </nav>`;
  }
  return html`<aside class="drawer" aria-label=${t("lab.drawer.title")}>
    <${TabGroup} rows=${rows} panels=${panels} />
    ${
      shape.value !== "phone" &&
      html`<${Button}
        class="button icon-button drawer-close" id="drawer-close" onClick=${() => setDrawer(false)}
        label=${t("lab.dock.close")}
      >
        ›
      </${Button}>`
    }
  </aside>`;
}

export const ExpertSwitch = () =>
  html`<${Button}
    class="button toggle" id="expert" aria-pressed=${expert.value} onClick=${() => setExpert(!expert.peek())}
    title=${t("lab.expert_hint")}
  >
    <${Icon} name="actor" /><span class="button-text">${t("lab.expert")}</span>
  </${Button}>`;

/** `groups`: lists of panels that share one place.
    @param {{ place: string, panels: Panels, groups: string[][] }} props */
export function Dock({ place, panels, groups }) {
  const isOpen = dockOpen.value || (shape.value === "phone" && !presenting.value);
  const title = t(isOpen ? "lab.dock.close" : "lab.dock.open");
  return html`<div class=${`dock dock-${place}`} data-open=${isOpen ? "yes" : "no"}>
    ${groups
      .map((names) => names.filter(isThere))
      .map((names) => html`<${TabGroup} key=${names.join(" ")} rows=${[names]} panels=${panels} isOpen=${isOpen} />`)}
    ${
      shape.value !== "phone" &&
      html`<${Button}
        class="button icon-button dock-toggle" id="dock-toggle" onClick=${() => (dockOpen.value = !isOpen)}
        label=${title}
      >
        ${isOpen ? "▾" : "▴"}
      </${Button}>`
    }
  </div>`;
}

/** Tabs in one row or several, and the panel of the one that was chosen last.
    @param {{ rows: string[][], panels: Panels, isOpen?: boolean }} props */
function TabGroup({ rows, panels, isOpen = true }) {
  const names = rows.flat();
  const front = chosen.value.find((name) => names.includes(name)) ?? names[0];
  const shown = isOpen ? front : null;
  const Panel = shown === null ? null : panels[shown];
  /** @param {KeyboardEvent} event */
  const move = (event) => {
    const at = names.indexOf(front);
    /** @type {Record<string, number>} */
    const places = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: names.length - 1 };
    const to = places[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = names[(to + names.length) % names.length];
    showPanel(next);
    requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
  };
  return html`<section class="panel tab-group">
    <div class="tabs" role="tablist" aria-label=${t("lab.drawer.title")} onKeyDown=${move}>
      ${rows.map(
        (row, index) =>
          html`<div class=${`tab-row tab-row-${index}`} role="presentation" key=${index}>
            ${row.map(
              (name) => html`<${Button}
                role="tab" key=${name} class="tab" id=${`tab-${name}`} aria-selected=${name === shown}
                aria-controls=${name === shown ? `panel-${name}` : undefined} tabindex=${name === front ? 0 : -1}
                onClick=${() => showPanel(name)}
              >
                <${TabText} name=${name} />
              </${Button}>`,
            )}
          </div>`,
      )}
    </div>
    ${
      isOpen &&
      html`<div
        class=${`tab-panel tab-panel-${shown}`}
        id=${`panel-${shown}`}
        key=${shown}
        tabindex="0"
        role="tabpanel"
        aria-labelledby=${`tab-${shown}`}
      >
        <${Panel} />
      </div>`
    }
  </section>`;
}

/** The tab's name and, where it is worth knowing without opening it, a figure.
    @param {{ name: string }} props */
function TabText({ name }) {
  /** @type {Record<string, () => number | string>} */
  const figures = {
    frames: () => framesUnderWay(calmView.value).length || "",
    life: () => calmView.value.life?.in_trouble || "",
    faults: () => calmView.value.faults.length || "",
    timers: () => runningTimers.value.length || "",
  };
  if (name === "invariants") {
    const bad = violations.value.length;
    return html`
      ${t("lab.panel.invariants")}${" "}
      <span class=${bad ? "tab-figure tab-bad" : "tab-figure tab-good"}>
        ${bad ? `✕ ${bad}` : `✓ ${calmView.value.invariants.length}`}
      </span>
    `;
  }
  const figure = figures[name]?.();
  return html`${t(`lab.panel.${name}`)}${figure ? html` <span class="tab-figure number">${figure}</span>` : ""}`;
}
