// The row that moves both worlds, and says which nodes are otherwise at this moment.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { speedText, virtualTime } from "../format.js";
import { Icon } from "../panels/controls/icons.js";
import { apart, both, inBoth } from "./sides.js";
import {
  duration,
  goTo,
  isOver,
  playing,
  speed,
  SPEEDS,
  step,
  stepBack,
  time,
  togglePlay,
  toNextViolation,
} from "./time.js";

const speedName = (value) => (value === "auto" ? t("lab.pair.auto") : speedText(value));

export function PairControls() {
  const off = useComputed(() => time.value === null).value;
  const button = (name, action, isOff, key) => html`<button
    type="button"
    class="button icon-button"
    id=${`pair-${name}`}
    disabled=${off || isOff}
    onClick=${action}
    title=${`${t(`lab.pair.${name}`)} (${key})`}
    aria-label=${t(`lab.pair.${name}`)}
  >
    <${Icon} name=${name} />
  </button>`;
  const atStart = time.value === 0;
  return html`<footer class="pair-controls" aria-label=${t("lab.controls.title")}>
    <div class="pair-buttons">
      ${button("restart", () => goTo(0), atStart, "r")} ${button("back", stepBack, atStart, ",")}
      <button
        type="button"
        class="button button-primary play-button"
        id="pair-play"
        disabled=${off || isOver.value}
        onClick=${togglePlay}
        title=${t("lab.keys.space")}
      >
        <${Icon} name=${playing.value ? "pause" : "play"} />
        ${t(playing.value ? "lab.controls.pause" : "lab.controls.play")}
      </button>
      ${button("step", step, isOver.value, ".")}
      <button
        type="button"
        class="button"
        id="pair-violation"
        disabled=${off || isOver.value}
        onClick=${toNextViolation}
      >
        <${Icon} name="until" />${t("lab.pair.next_violation")}
      </button>
      <label class="pair-speed">
        <span class="quiet">${t("lab.controls.speed")}</span>
        <select
          id="pair-speed"
          value=${speed.value}
          onChange=${({ currentTarget: { value } }) => (speed.value = value === "auto" ? value : Number(value))}
        >
          ${SPEEDS.map((one) => html`<option key=${one} value=${one}>${speedName(one)}</option>`)}
        </select>
      </label>
    </div>
    <div class="pair-scrub">
      <input
        type="range"
        id="pair-scrub"
        min="0"
        max=${Math.max(1, duration.value)}
        step="1000"
        value=${time.value ?? 0}
        disabled=${off}
        aria-label=${t("lab.pair.scrub")}
        aria-valuetext=${`${virtualTime(time.value ?? 0)} s`}
        onInput=${(event) => goTo(Number(event.currentTarget.value))}
      />
      <output class="number pair-time" id="pair-time" data-time=${time.value}>${virtualTime(time.value ?? 0)} s</output>
    </div>
    <${Now} />
    <label class="switch" title=${t("lab.pair.both_hint")}>
      <input
        type="checkbox"
        id="pair-both"
        checked=${inBoth.value}
        onChange=${(event) => (inBoth.value = event.currentTarget.checked)}
      />
      ${t("lab.pair.both")}
    </label>
  </footer>`;
}

/** Which nodes differ now, and in what. */
function Now() {
  const nodes = Object.entries(apart.value);
  const text = nodes.map(([name, { parts }]) => `${name} (${parts.map(partName).join(t("lab.pair.comma"))})`);
  const said =
    nodes.length > 0
      ? html`<span class="pair-sign" aria-hidden="true">≠</span>${" "}
          <strong>${t("lab.pair.now")}</strong> ${text.join(" · ")}`
      : html`<span class="quiet">${both.value && t("lab.pair.now_same")}</span>`;
  return html`<p class="pair-now" id="pair-now">${said}</p>`;
}

const PARTS = [
  "bank",
  "commit_log",
  "delay_levels",
  "groups",
  "held_pulls",
  "in_flight",
  "listener_calls",
  "local_locks",
  "locks",
  "node",
  "permits",
  "process_queues",
  "status",
  "topics",
  "transactions",
];
const partName = (part) => (PARTS.includes(part) ? t(`lab.pair.part_${part}`) : part.replaceAll("_", " "));
