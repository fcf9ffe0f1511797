// @ts-check
// How the nodes are laid out so that all of them are whole and their letters can be read: from large and roomy to dense
// and, at last, small. Within one run it only ever goes on to the next layout, and slots share the height of the stage
// from the beginning: a step moves no card.

import { signal } from "@preact/signals";
import { view } from "../../common/world/view.js";
import { forgetRoom } from "../nodes/room.js";
import { density, foldRest, folds, isRestFolded } from "./folding.js";
import { isLegible, presenting } from "./presentation.js";

/** Larger than this nothing is drawn by itself: few things should not look like a poster. */
const LARGEST = 1.2;
/** The same where letters stay large. */
const LARGEST_LEGIBLE = 1.6;
/** The least letters there, in pixels; a presentation, whose root grows with the window, draws nothing smaller. */
const LEGIBLE_PX = 16.1;
const SHRINK = 1.07;
/** The least letters of a card, in rem: static/styles/lab/nodes.css. */
const LETTERS_REM = 0.93;
/** Their size on the screen until everything that can be is folded; and then; in pixels. */
const READABLE_PX = 11;
const READABLE_REM = 0.6;
const HARDLY_PX = 9;
const DENSEST = 3;
const COLUMNS_MOST = 6;

/** The letters are smaller than can be read with ease: there is not the room. */
export const isCrowded = signal(false);

/** The layouts in turn, as [scale, density]. What a density leaves out: nodes.css. */
function layouts(rem) {
  const letters = LETTERS_REM * rem;
  const [readable, least] = [Math.max(READABLE_PX, READABLE_REM * rem) / letters, HARDLY_PX / letters];
  const found = /** @type {[number, number][]} */ ([]);
  const isLarge = isLegible.peek();
  const legible = presenting.peek() ? 1 : LEGIBLE_PX / letters;
  const [largest, usual] = isLarge ? [LARGEST_LEGIBLE, legible] : [LARGEST, readable];
  for (let scale = largest; scale > usual; scale /= SHRINK) found.push([scale, 0]);
  for (let dense = 0; dense <= DENSEST; dense += 1) found.push([usual, dense]);
  if (isLarge) return found;
  for (let scale = readable / SHRINK; scale > least; scale /= SHRINK) found.push([scale, DENSEST]);
  found.push([least, DENSEST]);
  return found;
}

/** What was chosen for a scenario and a size of the stage; `beyond`: by how many pixels it is larger than its frame, to
    the right and below. */
const chosen = /** @type {Map<string, { index: number, columns: number | null, beyond: number[] }>} */ (new Map());
const NOTHING = [0, 0];

/** Lays out `inner` for a frame of that size in pixels; `isFresh`: from the roomiest layout on. Returns the scale.
    @param {HTMLElement} inner
    @param {number} width
    @param {number} height */
export function layOut(inner, width, height, isFresh = false) {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const key = [view.peek().scenario, width, height, rem, isRestFolded.peek(), JSON.stringify(folds.peek())].join();
  if (isFresh) chosen.delete(key);
  const all = layouts(rem);
  const cards = inner.querySelector(".column-consumer")?.childElementCount ?? 0;
  const most = Math.min(Math.max(cards, 1), COLUMNS_MOST);
  // A large stage moves up and down rather than to the side.
  const aside = isLegible.peek() ? 10 : 1;
  const resize = (scale, added) => {
    inner.style.width = `${(width / scale + added[0]).toFixed(1)}px`;
    inner.style.height = `${(height / scale + added[1]).toFixed(1)}px`;
  };
  /** By how many pixels each column reaches beyond the frame, to the right and below. */
  const excesses = () => {
    const columns = /** @type {NodeListOf<HTMLElement>} */ (inner.querySelectorAll(".column"));
    const past = (end, room) => Math.max(0, end - room - 1);
    return [...columns].map((each) => [
      past(each.offsetLeft + each.offsetWidth, inner.clientWidth),
      past(each.scrollHeight, each.clientHeight),
    ]);
  };
  // Lays the cards out; returns by how many pixels they reach beyond the frame.
  const excess = ([scale, dense], columns) => {
    // Written anew, even the same value would make the browser compute the styles of all that is on the stage.
    if (inner.style.getPropertyValue("--consumer-columns") !== `${columns}`)
      inner.style.setProperty("--consumer-columns", columns);
    if (inner.dataset.density !== `${dense}`) inner.dataset.density = `${dense}`;
    resize(scale, NOTHING);
    return excesses().reduce((sum, [right, below]) => sum + right * aside + below, 0);
  };
  const last = chosen.get(key) ?? { index: 0, columns: null, beyond: NOTHING };
  const choose = (index, columns, beyond = NOTHING) => {
    const [scale, next] = all[index];
    if (next !== density.peek() || columns !== last.columns) forgetRoom();
    density.value = next;
    isCrowded.value = scale * LETTERS_REM * rem < READABLE_PX - 0.01;
    chosen.set(key, { index, columns, beyond });
    return scale;
  };
  const others = Array.from({ length: most }, (_, n) => n + 1);
  // Cards change places only where they would become small, and not where all is whole as it is.
  for (const tries of last.columns ? [[last.columns], others] : [others])
    for (let { index } = last; index < all.length; index += 1) {
      if (tries !== others && all[index][1] > 1 && index > last.index) break;
      const columns = tries.find((n) => excess(all[index], n) === 0);
      if (columns) return choose(index, columns);
    }
  // Nothing fits: the layout that overflows least, and then it stays.
  const densest = all.length - 1;
  const sorted = () => others.map((n) => [excess(all[densest], n), n]).sort(([one], [other]) => one - other);
  const isKept = last.index === densest && (!isLegible.peek() || last.beyond !== NOTHING);
  const best = isKept ? last.columns : sorted()[0][1];
  excess(all[densest], best);
  if (!isLegible.peek()) return choose(densest, best);
  // Letters stay large: nodes become lines, and then the stage is larger than its frame.
  foldRest();
  const more = [...last.beyond];
  for (const axis of [0, 1]) {
    resize(all[densest][0], more);
    more[axis] += Math.max(...excesses().map((each) => each[axis]));
  }
  resize(all[densest][0], more);
  return choose(densest, best, more);
}
