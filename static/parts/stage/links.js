// @ts-check
// The links between nodes: curves that pass around the cards, each a button: its actions are at its
// middle. A cut link is red, dashed and crossed; one that is slow or loses frames is dashed.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { acting, offer } from "../actions/thing.js";
import { bilingual } from "../../common/world/format.js";
import { Roving } from "../../common/roving.js";
import { view } from "../../common/world/view.js";
import { steadyList } from "../../common/viewer/lists.js";
import { pathOf, pointOn } from "./curves.js";

const linkFaults = steadyList(() => view.value.faults.filter((fault) => fault.links));

/** `lines`: a signal, pair -> line; see curves.js. Their problems are drawn above the curves. */
export function Links({ lines }) {
  const of = (pair) => {
    const ends = pair.split(" ");
    const found = linkFaults.value.filter((fault) =>
      fault.links?.some((link) => link.every((end) => ends.includes(end))),
    );
    const state = found.some(({ kind }) => kind === "partition") ? "cut" : found.length > 0 ? "poor" : "good";
    return { pair, ends, state, text: found.map((fault) => bilingual(fault.text)).join(" · ") };
  };
  const links = [...lines.value].map(([pair, line]) => ({ ...of(pair), line, at: pointOn(line, 0.5) }));
  const label = ({ ends: [a, b], text }) => t("lab.links.label", { a, b, state: text || t("lab.actions.link_good") });
  return html`
    <svg class="links" aria-hidden="true">
      ${links.map(({ pair, state, line }) => html`<path key=${pair} class=${`link is-${state}`} d=${pathOf(line)} />`)}
      ${links.map(
        ({ pair, ends, line }) =>
          html`<path
            key=${`${pair} ground`}
            class="link-ground"
            d=${pathOf(line)}
            onClick=${(event) => offer({ kind: "link", source: ends[0], target: ends[1] }, signOf(event, pair))}
          />`,
      )}
    </svg>
    <${Roving} class="link-signs" role="group" aria-label=${t("lab.links.title", { n: links.length })}>
      ${links.map(
        (link) => html`<button
          key=${link.pair}
          class=${`link-sign is-${link.state}`}
          ...${acting("link", { source: link.ends[0], target: link.ends[1] })}
          tabindex="-1"
          data-roving
          data-link=${link.pair}
          aria-label=${label(link)}
          title=${label(link)}
          style=${{ transform: `translate(${link.at[0].toFixed(1)}px, ${link.at[1].toFixed(1)}px)` }}
        >
          ${link.state === "cut" ? "✕" : link.state === "poor" ? "≈" : "⋯"}
        </button>`,
      )}
    </${Roving}>
  `;
}

/** A press anywhere on the curve is one on its sign. */
const signOf = (event, pair) =>
  event.currentTarget.closest(".lab-stage-inner").querySelector(`[data-link="${CSS.escape(pair)}"]`);
