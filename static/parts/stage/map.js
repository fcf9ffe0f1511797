// @ts-check
// Zoom and pan of the stage, as of a map. Left alone it fits itself: everything is whole, always. The wheel zooms at
// the pointer, dragging the ground moves it, the arrow keys too; a zoomed stage moves to what acts or breaks.

import { signal } from "@preact/signals";
import { layOut } from "./fitting.js";
import { nodes, view } from "../../common/world/view.js";
import { acting } from "./acting.js";
import { density, folds, isRestFolded, stageScale } from "./folding.js";
import { isLegible, presenting } from "./presentation.js";

const SCALE_LEAST = 0.2;
const SCALE_MOST = 3;
const STEP = 1.25;
const PAN_PX = 60;
const MARGIN_PX = 10;
const FIT_EVERY_MS = 250;
/** How many pixels a pointer may move during a click. */
const TREMBLE_PX = 4;

/** Whether the stage fits itself. */
export const fits = signal(true);

/** Moves `inner` within `outer`; both are elements. Returns { zoom, fit, show, pan, stop }. */
export function mapOf(outer, inner) {
  let [x, y, scale] = [0, 0, 1];
  let frame = { left: 0, top: 0, width: 0, height: 0 };
  // The stage's own size, as it was laid out: asking for it makes the browser lay out all that has changed since.
  let size = { width: 0, height: 0 };
  const draw = () => {
    inner.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) scale(${scale.toFixed(4)})`;
    stageScale.value = scale;
  };

  /** Everything whole, where that can be read: fitting.js. `isFresh`: somebody asked for it. */
  const fit = (isFresh = false) => {
    fits.value = true;
    // The padding is the banner's and the caption's: nothing is drawn below them.
    const { paddingTop, paddingBottom } = getComputedStyle(outer);
    const [above, below] = [parseFloat(paddingTop), parseFloat(paddingBottom)];
    const [width, height] = [outer.clientWidth - 2 * MARGIN_PX, outer.clientHeight - above - below - MARGIN_PX];
    if (width <= 0 || height <= 0) return;
    scale = layOut(inner, width, height, isFresh);
    frame = { left: MARGIN_PX, top: above + MARGIN_PX, width, height };
    size = { width: inner.offsetWidth, height: inner.offsetHeight };
    settle();
    follow();
  };
  /** A stage with large letters may be larger than its frame: it moves in it, and not beyond its own edges. */
  const settle = () => {
    const within = (at, from, room, length) => Math.min(from, Math.max(at, from + room - length * scale));
    x = within(x, frame.left, frame.width, size.width);
    y = within(y, frame.top, frame.height, size.height);
    draw();
  };
  const isLarger = () =>
    fits.peek() && Math.max(size.width * scale - frame.width, size.height * scale - frame.height) > 1;

  const zoomAt = (factor, px, py) => {
    fits.value = false;
    const next = Math.min(SCALE_MOST, Math.max(SCALE_LEAST, scale * factor));
    x = px - ((px - x) * next) / scale;
    y = py - ((py - y) * next) / scale;
    scale = next;
    draw();
  };
  const zoom = (steps) => zoomAt(STEP ** steps, outer.clientWidth / 2, outer.clientHeight / 2);
  const pan = (dx, dy) => {
    x += dx;
    y += dy;
    if (isLarger()) return settle();
    fits.value = false;
    draw();
  };

  /** Brings an element of the stage into view, if it is not. */
  const show = (element) => {
    if (fits.peek() && !isLarger()) return;
    // Both may still be gliding to where they belong; their distance is not.
    const [box, whole] = [element.getBoundingClientRect(), inner.getBoundingClientRect()];
    const [left, top] = [x + box.left - whole.left, y + box.top - whole.top];
    const move = (low, high, from, to) =>
      low < from ? from - low + MARGIN_PX : high > to ? Math.max(to - high - MARGIN_PX, from - low + MARGIN_PX) : 0;
    const dx = move(left, left + box.width, 0, outer.clientWidth);
    const dy = move(top, top + box.height, frame.top - MARGIN_PX, outer.clientHeight);
    if (dx || dy) pan(dx, dy);
  };

  /** The node that acts comes into view where not every node is. */
  const follow = () => {
    const card = isLarger() && inner.querySelector(`[data-node="${CSS.escape(acting.peek() ?? "")}"]`);
    if (card) show(card);
  };

  const stops = [
    acting.subscribe(follow),
    ...listen(outer, {
      wheel: (event) => {
        // Where the page itself scrolls, the wheel is the page's.
        if (!event.ctrlKey && document.documentElement.scrollHeight > innerHeight + 1) return;
        event.preventDefault();
        const { left, top } = outer.getBoundingClientRect();
        zoomAt(Math.exp(-event.deltaY / (event.ctrlKey ? 120 : 600)), event.clientX - left, event.clientY - top);
      },
      keydown: (event) => {
        if (event.target !== outer || presenting.peek()) return;
        const moves = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
        const [mx, my] = moves[event.key] ?? [0, 0];
        if (mx || my) pan(mx * PAN_PX, my * PAN_PX);
        else if (event.key === "+" || event.key === "=") zoom(1);
        else if (event.key === "-") zoom(-1);
        else if (event.key === "0") fit(true);
        else return;
        event.preventDefault();
      },
      // The browser scrolls what has the focus into view: that would move the stage within its frame.
      scroll: () => {
        outer.scrollTo(0, 0);
      },
      focusin: (event) => event.target !== outer && show(event.target),
    }),
    dragging(outer, pan),
  ];
  return { zoom, fit, show, pan, stop: () => stops.forEach((stop) => stop()) };
}

function listen(element, handlers) {
  return Object.entries(handlers).map(([name, handler]) => {
    element.addEventListener(name, handler, { passive: false });
    return () => element.removeEventListener(name, handler);
  });
}

/** Dragging the ground, not a button or a card's text. */
function dragging(outer, pan) {
  let held = null;
  const stops = listen(outer, {
    pointerdown: (event) => {
      if (event.button === 0 && !event.target.closest("button, a, input, .node, [role=button]"))
        held = { x: event.clientX, y: event.clientY, moved: false };
    },
    pointermove: (event) => {
      if (!held) return;
      const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
      if (!held.moved && Math.hypot(dx, dy) < TREMBLE_PX) return;
      if (!held.moved) outer.setPointerCapture(event.pointerId);
      held = { x: event.clientX, y: event.clientY, moved: true };
      pan(dx, dy);
    },
    pointerup: () => (held = null),
    pointercancel: () => (held = null),
  });
  return () => stops.forEach((stop) => stop());
}

/** Lets changes of the stage's size and contents fit it again, a moment later and never while it is zoomed. */
export function keepFitting(outer, map) {
  let [wanted, waits] = [0, 0];
  const again = () => {
    cancelAnimationFrame(wanted);
    wanted = requestAnimationFrame(() => fits.peek() && map.fit());
  };
  // Asking whether all is whole costs as much as a picture: while time passes it is asked a few times a second.
  const soon = () => {
    if (!view.peek().playing) again();
    else waits ||= setTimeout(() => ((waits = 0), again()), FIT_EVERY_MS);
  };
  const sizes = new ResizeObserver(again);
  sizes.observe(outer);
  const stops = [
    nodes.subscribe(soon),
    ...[folds, density, isRestFolded, isLegible].map((each) => each.subscribe(again)),
  ];
  return () => (sizes.disconnect(), stops.forEach((stop) => stop()), cancelAnimationFrame(wanted), clearTimeout(waits));
}
