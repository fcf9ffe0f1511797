// @ts-check
// An expression as a tree: every part with what it is for this message.

import { html } from "htm/preact";
import { t } from "../common/i18n.js";

/** @param {{ part: Picture.FilterPart }} props */
export function Tree({ part }) {
  return html`<ul class="truth-tree"><${Part} part=${part} /></ul>`;
}

/** @param {{ part: Picture.FilterPart }} props */
function Part({ part }) {
  const isValue = part.outcome === "value";
  return html`<li class=${`part part-${part.outcome}`}>
    <div class="part-line">
      <span class="outcome">${t(`filter.outcome.${part.outcome}`)}</span>
      <code>${part.text}</code>
      ${isValue && part.value !== part.text && html`<span class="part-value">= <code>${part.value}</code></span>`}
      ${isValue && html`<span class="quiet">${part.java_type}</span>`}
      ${part.kind === "Cast" && html`<span class="quiet">${t("filter.cast")}</span>`}
    </div>
    ${
      part.failure &&
      html`<p class="part-failure">${t(`filter.failure.${part.failure.problem}`, part.failure.details)}</p>`
    }
    ${
      part.parts.length > 0 &&
      html`<ul>${part.parts.map((below, index) => html`<${Part} key=${index} part=${below} />`)}</ul>`
    }
  </li>`;
}
