// How the nodes are laid out so that all of them are whole and their letters can be read: from large and roomy to dense
// and, at last, small. Within one run it only ever goes on to the next layout, and slots share the height of the stage
// from the beginning: a step moves no card.

import { signal } from "@preact/signals";
import { view } from "../../common/world/view.js";
import { forgetRoom } from "../nodes/room.js";
import { density, folds } from "./folding.js";

/** Larger than this nothing is drawn by itself: few things should not look like a poster. */
const LARGEST = 1.2;
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
  const found = [];
  for (let scale = LARGEST; scale > readable; scale /= SHRINK) found.push([scale, 0]);
  for (let dense = 0; dense <= DENSEST; dense += 1) found.push([readable, dense]);
  for (let scale = readable / SHRINK; scale > least; scale /= SHRINK) found.push([scale, DENSEST]);
  return [...found, [least, DENSEST]];
}

/** What was chosen for a scenario and a size of the stage: { index, columns }. */
const chosen = new Map();

/** Lays out `inner` for a frame of that size in pixels; `isFresh`: from the roomiest layout on. Returns the scale. */
export function layOut(inner, width, height, isFresh = false) {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const key = [view.peek().scenario, width, height, rem, JSON.stringify(folds.peek())].join();
  if (isFresh) chosen.delete(key);
  const all = layouts(rem);
  const cards = inner.querySelector(".column-consumer")?.childElementCount ?? 0;
  const most = Math.min(Math.max(cards, 1), COLUMNS_MOST);
  // Lays the cards out; returns by how many pixels they reach beyond the frame.
  const excess = ([scale, dense], columns) => {
    inner.style.setProperty("--consumer-columns", columns);
    inner.dataset.density = dense;
    inner.style.width = `${(width / scale).toFixed(1)}px`;
    inner.style.height = `${(height / scale).toFixed(1)}px`;
    const beyond = (end, room) => Math.max(0, end - room - 1);
    return [...inner.querySelectorAll(".column")]
      .map(
        (each) =>
          beyond(each.offsetLeft + each.offsetWidth, inner.clientWidth) + beyond(each.scrollHeight, each.clientHeight),
      )
      .reduce((sum, one) => sum + one, 0);
  };
  const last = chosen.get(key) ?? { index: 0, columns: null };
  const choose = (index, columns) => {
    const [scale, next] = all[index];
    if (next !== density.peek() || columns !== last.columns) forgetRoom();
    density.value = next;
    isCrowded.value = scale * LETTERS_REM * rem < READABLE_PX - 0.01;
    chosen.set(key, { index, columns });
    return scale;
  };
  const others = Array.from({ length: most }, (_, n) => n + 1);
  // Cards change places only where they would become small.
  for (const tries of last.columns ? [[last.columns], others] : [others])
    for (let { index } = last; index < all.length; index += 1) {
      if (tries !== others && all[index][1] > 1) break;
      const columns = tries.find((n) => excess(all[index], n) === 0);
      if (columns) return choose(index, columns);
    }
  // Nothing fits: the layout that overflows least, and then it stays.
  const sorted = () => others.map((n) => [excess(all.at(-1), n), n]).sort(([one], [other]) => one - other);
  const best = last.index === all.length - 1 ? last.columns : sorted()[0][1];
  excess(all.at(-1), best);
  return choose(all.length - 1, best);
}
