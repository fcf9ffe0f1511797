// @ts-check
// What lists, strips and figures on the cards of nodes have in common.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { pointing } from "../../common/viewer/pointed.js";
import { accused } from "../../common/world/view.js";
import { keepsRoom } from "./room.js";

/** A list that keeps its room: `none` while it is empty, the first `most` of its `rows`, how many more there are. */
export const Rows = ({
  class: kind,
  label,
  rows,
  most = Infinity,
  total = rows.length,
  none = t("lab.none_yet"),
  ...rest
}) =>
  html`<ul class=${kind} ref=${keepsRoom} aria-label=${label} ...${rest}>
    ${rows.length === 0 && none && html`<li class="quiet">${none}</li>`}
    ${rows.slice(0, most)}
    ${total > most && html`<li class="quiet number">${t("word.more", { n: total - most })}</li>`}
  </ul>`;

/** A row about the message with the key `of`: it is pointed at with it, and marked where an invariant accuses it. */
export const KeyRow = ({ of: key, class: kind, children, ...rest }) =>
  html`<li class=${`${kind} ${accused.value.has(key) ? "is-accused" : ""}`} ...${pointing(key)} ...${rest}>
    ${children}
  </li>`;

/** The newest `most` of a list that grows at its end, the newest first. */
export const newest = (list, most) => list.slice(-most).reverse();

/**
 * Figures of a card, each under its word.
 *
 * @param {object} properties
 * @param {(name: string) => string} properties.word The text of a name, and of "NAME_hint".
 * @param {([name: string, value: any, isBad?: boolean, hint?: string] | false)[]} properties.figures
 */
export const FigureCells = ({ word, figures }) =>
  html`<dl class="figure-cells">
    ${figures.map(
      (figure) =>
        figure &&
        html`<div
          key=${figure[0]} class=${`figure-cell ${figure[2] ? "is-bad" : ""}`} data-figure=${figure[0]}
          title=${figure[3] ?? word(`${figure[0]}_hint`)}
        >
          <dt>${word(figure[0])}</dt><dd class="number">${figure[1]}</dd>
        </div>`,
    )}
  </dl>`;
