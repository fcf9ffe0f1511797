// @ts-check
// A red-black tree as the engine holds it: x is the rank in order, y the depth. Red nodes are circles, black ones
// squares, so that the colour is never alone. The drawing is one stop of the Tab key: arrow keys walk in order, Enter
// opens a message, as a click does.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { topicMark } from "../../../common/palette.js";
import { shortOffset } from "../../../common/world/format.js";
import { memo } from "../../../common/memo.js";
import { Roving } from "../../../common/roving.js";
import { isPointed, pointing } from "../../../common/viewer/pointed.js";

const MOST_STEP = 24;
const LABEL_STEP = 20;
const ROW = 21;
/** Digits for which a node and a cell have room. */
const TREE_DIGITS = 3;
const CELL_DIGITS = 4;

/** In order: [{ offset, key, red, rank, depth, parent }] */
export function layOut(tree) {
  const placed = [];
  const visit = (node, depth, parent) => {
    if (!node) return;
    const here = { offset: node.offset, key: node.key, red: node.red, depth, parent, rank: 0 };
    visit(node.left, depth + 1, here);
    here.rank = placed.length;
    placed.push(here);
    visit(node.right, depth + 1, here);
  };
  visit(tree, 0, null);
  return placed;
}

/** `nodes`: as laid out. `width`: room in pixels at 14 px text; the drawing scales with the text. `onOpen(node, event)`
    is called for a press. */
function Tree({ nodes, name, width, onOpen }) {
  const step = Math.min(MOST_STEP, (width - 14) / nodes.length);
  const depth = nodes.reduce((most, node) => Math.max(most, node.depth), 0);
  const size = Math.min(10, Math.max(2.2, step * 0.46));
  const isNumbered = step >= LABEL_STEP;
  const [circle, square] = [circleOf(rounded(size)), squareOf(rounded(0.92 * size))];
  const shapes = (isRed, shape) =>
    nodes.reduce((path, { red, rank }) => (red === isRed ? `${path}M${places[rank]}${shape}` : path), "");
  const row = Math.min(ROW, Math.max(9, size * 2.1));
  const x = (node) => rounded(7 + step * (node.rank + 0.5));
  const y = (node) => rounded(size + 3 + row * node.depth);
  const places = nodes.map((node) => `${x(node)} ${y(node)}`);
  const [drawnWidth, height] = [14 + step * nodes.length, 2 * size + 6 + row * depth];
  const edges = nodes.reduce(
    (path, { parent, rank }) => path + (parent ? `M${places[parent.rank]}L${places[rank]}` : ""),
    "",
  );
  const label = t("lab.tree.label", { name, n: nodes.length, first: nodes[0].offset, last: nodes.at(-1).offset });
  const marked = useSignal(null);
  const cursor = nodes.find((node) => node.offset === marked.value);
  const walk = (event) => {
    const last = nodes.length - 1;
    const rank = cursor ? cursor.rank : -1;
    const to = { ArrowRight: rank + 1, ArrowLeft: rank < 0 ? last : rank - 1, Home: 0, End: last }[event.key];
    if (to !== undefined) marked.value = nodes[Math.min(Math.max(to, 0), last)].offset;
    else if (event.key === "Enter" && cursor) onOpen(cursor, event);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const click = (event) => {
    const scale = drawnWidth / event.currentTarget.clientWidth;
    const far = (node) => (x(node) - event.offsetX * scale) ** 2 + (y(node) - event.offsetY * scale) ** 2;
    onOpen(
      nodes.reduce((best, node) => (far(node) < far(best) ? node : best)),
      event,
    );
  };
  return html`<figure class="tree" data-tree=${name}>
    <figcaption class="tree-name">
      ${name} <span class="quiet number">${nodes.length}</span> ${isNumbered && rangeOf(nodes, TREE_DIGITS)}
    </figcaption>
    <svg
      class="tree-drawing"
      viewBox=${`0 0 ${rounded(drawnWidth)} ${rounded(height)}`}
      style=${{ width: `${(drawnWidth / 14).toFixed(2)}rem` }}
      role="application"
      aria-roledescription=${t("lab.tree.role")}
      tabindex="0"
      aria-label=${cursor ? t("lab.tree.node", { offset: cursor.offset, key: cursor.key || "–" }) : label}
      onClick=${click}
      onKeyDown=${walk}
      onBlur=${() => (marked.value = null)}
    >
      <path class="tree-edges" d=${edges} />
      ${
        isNumbered
          ? nodes.map(
              (node) =>
                html`<${TreeNode}
                  key=${node.offset}
                  offset=${node.offset}
                  red=${node.red}
                  name=${node.key}
                  x=${x(node)}
                  y=${y(node)}
                  size=${size}
                />`,
            )
          : html`
            <path class="tree-reds" d=${shapes(true, circle)} />
            <path class="tree-blacks" d=${shapes(false, square)} />
          `
      }
      ${cursor && html`<circle class="tree-cursor" cx=${x(cursor)} cy=${y(cursor)} r=${size + 2.5} />`}
    </svg>
  </figure>`;
}

const rounded = (value) => Math.round(value * 10) / 10;
/** Strokes of a node's shape from its middle; the same string for each of them. */
const circleOf = (r) => `m${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
const squareOf = (half) => `m${-half} ${-half}h${2 * half}v${2 * half}h${-2 * half}Z`;

/** A small tree's nodes carry their offsets; big trees are drawn as two shapes, which costs the browser far less. */
const TreeNode = memo(({ offset, red, name, x, y, size }) => {
  const digits = shortOffset(offset, TREE_DIGITS, 2);
  return html`<g class=${red ? "tree-red" : "tree-black"} style=${{ transform: `translate(${x}px, ${y}px)` }}>
    <title>${offset} ${name}</title>
    ${
      red
        ? html`<circle r=${size} />`
        : html`<rect x=${-size * 0.92} y=${-size * 0.92} width=${size * 1.84} height=${size * 1.84} rx="1.5" />`
    }
    <text class=${digits.length > 2 ? "is-long" : ""} text-anchor="middle" dy=".35em">${digits}</text>
  </g>`;
});

/** The first and the last offset in full, where the others have room for their last digits only. */
const rangeOf = (nodes, digits) =>
  nodes.length > 0 &&
  String(nodes.at(-1).offset).length > digits &&
  html`<span class="number" data-range>${count(nodes[0].offset)}–${count(nodes.at(-1).offset)}</span>`;

const MOST_CELLS = 8;

/** What `tree` holds, of which it may be the upper levels only: as a drawing (`isTree`), or as a line of cells.
    @param {{ tree: Picture.TreeNode | null, held: Picture.HeldMessages | null, name: string, topic: string,
      isTree: boolean, width: number, isAccused?: import("./locks.js").Source["isAccused"],
      onOpen: (message: { offset: number, key?: string }, event: any) => void }} props */
export const Messages = memo(({ tree, held, name, topic, isTree, width, isAccused, onOpen }) => {
  const nodes = layOut(tree);
  const n = held?.count ?? nodes.length;
  if (n === 0) return null;
  if (!isTree || !tree) return html`<${Cells} ...${{ nodes, held, n, name, topic, isAccused, onOpen }} />`;
  return html`<${Tree} ...${{ nodes, name, width, onOpen }} />
    ${nodes.length < n && html`<p class="quiet">${t("live.internals.tree_cut", { shown: nodes.length, n })}</p>`}`;
});

function Cells({ nodes, held, n, name, topic, isAccused, onOpen }) {
  const { tone } = topicMark(topic);
  const cells = cellsOf(nodes, n, held?.first ?? nodes[0]?.offset, held?.last ?? nodes.at(-1)?.offset);
  const missing = n - cells.filter(Boolean).length;
  const [first, last] = [cells[0]?.offset ?? "?", cells.at(-1)?.offset ?? "?"];
  return html`<${Roving}
    class=${`held-cells ${name === "consumingMsgOrderlyTreeMap" ? "is-taken" : ""}`}
    role="group"
    data-tree=${name}
    aria-label=${t("live.internals.cells", { name, n, first, last })}
  >
    ${cells.map((cell) =>
      cell === null
        ? html`<span key="gap" class="quiet number">… ${missing} …</span>`
        : html`<button
            key=${cell.offset}
            type="button"
            class=${`cell tone-${tone} ${isPointed(cell.key) ? "is-pointed" : ""} ${
              isAccused?.(cell.key) ? "is-accused" : ""
            }`}
            tabindex="-1"
            data-roving
            data-long=${cell.offset > 999 || undefined}
            title=${`${name}: ${t("lab.tree.node", { offset: cell.offset, key: cell.key || "–" })}`}
            onClick=${(event) => onOpen(cell, event)}
            ...${pointing(cell.key)}
          >
            ${shortOffset(cell.offset, CELL_DIGITS)}
          </button>`,
    )}
    ${rangeOf(cells.filter(Boolean), CELL_DIGITS)}
  </${Roving}>`;
}

/** The first messages and the last one of `n`, with null for those between: an offset is shown only where it is known
    that a message has it.
    @param {{ offset: number, key?: string }[]} nodes those of the tree that are known
    @param {number} n @param {number | undefined} first @param {number | undefined} last
    @returns {({ offset: number, key?: string } | null)[]} */
export function cellsOf(nodes, n, first, last) {
  if (first === undefined || last === undefined) return [null];
  const known =
    nodes.length === n
      ? nodes
      : last - first + 1 === n
        ? Array.from({ length: Math.min(n, MOST_CELLS) }, (_, index) => ({ offset: first + index }))
        : [{ offset: first }];
  if (n <= known.length && n <= MOST_CELLS) return known;
  const end = nodes.find(({ offset }) => offset === last) ?? { offset: last };
  return [...known.slice(0, MOST_CELLS - 2), ...(n > Math.min(known.length, MOST_CELLS - 2) + 1 ? [null] : []), end];
}
