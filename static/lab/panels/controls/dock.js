// Groups of tabs around the stage. How many groups there are follows the window: on a wide and tall one the most
// important panels stand beside each other, on a small one they share one place.

import { html } from "htm/preact";
import { computed, signal } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { canCompare } from "../analysis/compare.js";
import { calmView, framesUnderWay, runningTimers, violations } from "../../view.js";

const SHAPES = {
  large: {
    side: [["source"], ["invariants"], ["timers", "actors", "faults", "settings"]],
    bottom: [["sequence"], ["xa", "money", "compare", "log", "backlog", "life", "frames", "explorer"]],
  },
  wide: {
    side: [["source"], ["invariants", "timers", "actors", "faults", "settings"]],
    bottom: [["sequence"], ["xa", "money", "compare", "log", "backlog", "life", "frames", "explorer"]],
  },
  narrow: {
    side: [],
    bottom: [
      [
        "sequence",
        "xa",
        "money",
        "compare",
        "source",
        "invariants",
        "log",
        "backlog",
        "life",
        "frames",
        "timers",
        "actors",
        "faults",
        "settings",
        "explorer",
      ],
    ],
  },
};

/** Panels that only some worlds have. */
const OPTIONAL = {
  backlog: computed(() => calmView.value.backlog !== null),
  compare: canCompare,
  money: computed(() => calmView.value.money !== null),
  xa: computed(() => calmView.value.xa !== null),
};
const isThere = (name) => OPTIONAL[name]?.value ?? true;

const isWide = matchMedia("(min-width: 1240px)");
const isTall = matchMedia("(min-height: 840px)");
export const shape = signal(fittingShape());
for (const query of [isWide, isTall]) query.addEventListener("change", () => (shape.value = fittingShape()));
const isProjector = signal(document.documentElement.dataset.theme === "projector");
addEventListener("themechange", () => {
  isProjector.value = document.documentElement.dataset.theme === "projector";
  shape.value = fittingShape();
});

/** Entries of a consume queue that are drawn: big letters leave room for fewer. */
export const entriesShown = computed(() => (isProjector.value ? 6 : 12));

function fittingShape() {
  const hasBigLetters = document.documentElement.dataset.theme === "projector";
  if (!isWide.matches || (hasBigLetters && innerWidth < 1800)) return "narrow";
  return isTall.matches && !hasBigLetters ? "large" : "wide";
}

/** Names of panels, the one that was chosen last first: a group shows its first. */
const chosen = signal([]);

export function showPanel(name) {
  if (chosen.peek()[0] !== name) chosen.value = [name, ...chosen.peek().filter((other) => other !== name)];
}

/** Shows a panel and moves the focus to it, or to the element of `selector` inside. */
export function focusPanel(name, selector) {
  showPanel(name);
  requestAnimationFrame(() => {
    const panel = document.getElementById(`panel-${name}`);
    panel?.scrollIntoView({ block: "nearest" });
    (selector ? panel?.querySelector(selector) : panel)?.focus();
  });
}

/** `groups`: lists of panels that share one place; without it as many as fit the window. */
export function Dock({ place, panels, groups = SHAPES[shape.value][place] }) {
  return html`<div class=${`dock dock-${place}`}>
    ${groups
      .map((names) => names.filter(isThere))
      .map((names) => html`<${TabGroup} key=${names.join(" ")} names=${names} panels=${panels} />`)}
  </div>`;
}

function TabGroup({ names, panels }) {
  const shown = chosen.value.find((name) => names.includes(name)) ?? names[0];
  const Panel = panels[shown];
  const body = html`<div
    class=${`tab-panel tab-panel-${shown}`}
    id=${`panel-${shown}`}
    key=${shown}
    tabindex="0"
    role=${names.length > 1 ? "tabpanel" : "region"}
    aria-labelledby=${`tab-${shown}`}
  >
    <${Panel} />
  </div>`;
  if (names.length === 1) {
    return html`<section class=${`panel tab-group group-${shown}`}>
      <div class="tabs"><h2 class="tab tab-alone" id=${`tab-${shown}`}><${TabText} name=${shown} /></h2></div>${body}
    </section>`;
  }
  const move = (event) => {
    const at = names.indexOf(shown);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = names[(to + names.length) % names.length];
    showPanel(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return html`<section class="panel tab-group">
    <div class="tabs" role="tablist" onKeyDown=${move}>
      ${names.map(
        (name) => html`<button
          key=${name}
          type="button"
          class="tab"
          role="tab"
          id=${`tab-${name}`}
          aria-selected=${name === shown}
          aria-controls=${name === shown ? `panel-${name}` : undefined}
          tabindex=${name === shown ? 0 : -1}
          onClick=${() => showPanel(name)}
        >
          <${TabText} name=${name} />
        </button>`,
      )}
    </div>
    ${body}
  </section>`;
}

/** The tab's name and, where it is worth knowing without opening it, a figure. */
function TabText({ name }) {
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
