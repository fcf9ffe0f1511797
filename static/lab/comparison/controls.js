// @ts-check
// The row that moves both worlds, and says which nodes differ at this moment.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { virtualTime } from "../../common/world/format.js";
import { Button } from "../../parts/controls/button.js";
import { Icon } from "../../parts/controls/icons.js";
import { apart, both, inBoth } from "./two_worlds.js";
import { Speed, TimeButtons } from "../../parts/controls/time_buttons.js";
import { ACTIONS, duration, goTo, isOver, pace, playing, speed, time, toNextViolation } from "./time.js";
import { Switch } from "../../parts/controls/choices.js";

/** @param {typeof speed.value} next */
const choose = (next) => (speed.value = next);

export function ComparisonControls() {
  const off = useComputed(() => time.value === null).value;
  const stands = { playing: playing.value, atStart: time.value === 0, isOver: isOver.value, off };
  return html`<footer class="pair-controls" aria-label=${t("word.time")}>
    <div class="pair-buttons">
      <${TimeButtons} of="pair" actions=${ACTIONS} ...${stands} />
      <${Button} id="pair-violation" disabled=${off || isOver.value} onClick=${toNextViolation}>
        <${Icon} name="until" />${t("lab.pair.next_violation")}
      </${Button}>
      <${Speed} id="pair-speed" speed=${speed.value} why=${pace.value} choose=${choose} />
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
        onInput=${(/** @type {FieldEvent} */ event) => goTo(Number(event.currentTarget.value))}
      />
      <output class="number pair-time" id="pair-time" data-time=${time.value}>${virtualTime(time.value ?? 0)} s</output>
    </div>
    <${Now} />
    <${Switch}
      id="pair-both"
      text=${t("lab.pair.both")}
      hint=${t("lab.pair.both_hint")}
      isOn=${inBoth.value}
      set=${(/** @type {boolean} */ isOn) => (inBoth.value = isOn)}
    />
  </footer>`;
}

/** Which nodes differ now, and in what. */
function Now() {
  const isUntouched = time.value === 0;
  const nodes = Object.entries(apart.value);
  const text = nodes.map(([name, { parts }]) => `${name} (${parts.map(partName).join(t("text.list_separator"))})`);
  const said =
    nodes.length > 0
      ? html`<span class="pair-sign" aria-hidden="true">≠</span>${" "}
          <strong>${t("lab.pair.now")}</strong> ${text.join(" · ")}`
      : html`<span class="quiet">${both.value && t(isUntouched ? "lab.pair.now_nothing" : "lab.pair.now_same")}</span>`;
  return html`<p class="pair-now" id="pair-now" title=${text.join(" · ")}>${said}</p>`;
}

/** @type {Record<string, string>} */
const PARTS = {
  bank: "lab.bank.account",
  commit_log: "commit_log.title",
  delay_levels: "section.delay_levels",
  groups: "word.consumer_groups",
  held_pulls: "pull.title",
  in_flight: "lab.pair.part_in_flight",
  listener_calls: "lab.consumer.calls",
  local_locks: "lab.pair.part_local_locks",
  locks: "lab.pair.part_locks",
  node: "lab.pair.part_node",
  page_cache: "word.page_cache",
  permits: "lab.pair.part_permits",
  process_queues: "lab.pair.part_process_queues",
  status: "word.state",
  topics: "word.topics_and_queues",
  transactions: "word.half_messages",
};
/** @param {string} part */
const partName = (part) => (part in PARTS ? t(PARTS[part]) : part.replaceAll("_", " "));
