// @ts-check
// One event of an answer: when, who, what. A stretch of time has a bar as long as its share of the longest.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { bilingual, span } from "../../common/world/format.js";
import { Button } from "../controls/button.js";
import { Icon } from "../controls/icons.js";

const SIGNS = {
  message: "■",
  listener: "▸",
  offset: "#",
  lock: html`<${Icon} name="lock" />`,
  owner: "⇄",
  fault: "!",
  wait: "◷",
};

/** `go`: what a press does with the step; null: it cannot be gone to. */
export function WhyStep({ step, isHere, share, go }) {
  const { kind, node, time_us: at, span_us: us, text } = step;
  return html`<li class=${`why-step why-step-${kind} ${isHere ? "is-here" : ""}`} data-event=${step.event}>
    <${Button}
      class="why-go" data-roving tabindex="-1" aria-current=${isHere ? "step" : undefined} disabled=${go === null}
      onClick=${() => go(step)} title=${t(step.ahead ? "lab.why.run_to" : "lab.why.show", { event: step.event })}
    >
      <span class="why-time number">${(at / 1e6).toFixed(3)} s</span>
      <span class="why-step-sign" aria-hidden="true">${SIGNS[kind]}</span>
      <span class="why-text">
        <span class="sr-only">${node}: </span>${breakable(bilingual(text))}
        ${
          us !== null &&
          html`<span class="why-span" style=${{ width: `${Math.max(1, 100 * share)}%` }} title=${span(us)}></span>`
        }
      </span>
    </${Button}>
  </li>`;
}

/** Names of frames are long: they may break after an underscore. */
const breakable = (text) =>
  text.split("_").flatMap((part, index) => (index === 0 ? [part] : ["_", html`<wbr />`, part]));
