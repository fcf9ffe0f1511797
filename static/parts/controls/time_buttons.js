// @ts-check
// The buttons that move time and the choice of its speed, alike for one world and for two side by side.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { speedText } from "../../common/world/format.js";
import { Button } from "./button.js";
import { Icon } from "./icons.js";
import { Select } from "../panel/select.js";

/** What can be chosen besides "auto": virtual seconds per second. */
export const SPEEDS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000];

/**
 * @typedef {"controls" | "pair"} Owner Whose words the buttons have, and how their ids begin.
 * @typedef {"restart" | "back" | "play" | "step"} Action
 *
 * @param {{ of: Owner, actions: Record<Action, () => void>, playing: boolean, off: boolean, atStart: boolean,
 *   isOver: boolean }} props
 */
export function TimeButtons({ of, actions, playing, off, atStart, isOver }) {
  /** @type {(name: Action, isOff: boolean, letter: string) => any} */
  const button = (name, isOff, letter) => html`<${TimeButton}
    ...${{ of, name, letter, isOff: off || isOff, act: actions[name] }}
  />`;
  const word = t(playing ? "controls.pause" : "lab.controls.play");
  return html`
    ${button("restart", atStart, "r")} ${button("back", atStart, ",")}
    <${Button}
      class="button button-primary play-button" id=${`${ID_OF[of]}-play`} disabled=${off || isOver}
      onClick=${actions.play} title=${`${word} (${t("lab.keys.space")})`}
    >
      <${Icon} name=${playing ? "pause" : "play"} /><span>${word}</span>
    </${Button}>
    ${button("step", isOver, ".")}
  `;
}

const ID_OF = { controls: "control", pair: "pair" };

/** `letter`: of the key that does the same.
    @param {{ of: Owner, name: string, letter: string, isOff: boolean, act: () => void }} props */
export function TimeButton({ of, name, letter, isOff, act }) {
  const label = t(of === "pair" ? `lab.pair.${name}` : `lab.controls.${name}`);
  return html`<${Button}
    class="button icon-button" id=${`${ID_OF[of]}-${name}`} disabled=${isOff} onClick=${act}
    title=${`${label} (${letter})`} label=${label}
  >
    <${Icon} name=${name} />
  </${Button}>`;
}

/**
 * How quickly time passes: as the eye can follow ("auto"), or a fixed number of virtual seconds per second; and `why`
 * it does so now.
 *
 * @typedef {number | "auto"} Pace
 * @param {{ id: string, speed: Pace, why: string, choose: (speed: Pace) => void }} props
 */
export function Speed({ id, speed, why, choose }) {
  const known = speed === "auto" || SPEEDS.includes(speed) ? SPEEDS : [...SPEEDS, speed].sort((a, b) => a - b);
  return html`<div class="speed">
    <label title=${t("lab.controls.speed_hint")}>
      <span class="quiet">${t("lab.controls.speed")}</span>${" "}
      <${Select}
        id=${id} class="speed-value" value=${String(speed)}
        choose=${(/** @type {string} */ value) => choose(value === "auto" ? value : Number(value))}
        options=${[["auto", t("lab.controls.auto")], ...known.map((one) => [String(one), speedText(one)])]}
      />
    </label>
    <span class="speed-why quiet" id=${`${id}-why`} data-why=${why}>
      ${speed === "auto" && t(`lab.pace.${why || "rest"}`)}
    </span>
  </div>`;
}
