// @ts-check
// The lines between clients and broker, and the frames that fly along them.
//
// The lines follow the cards: every element with data-link gets one, measured again whenever a column changes its
// size or scrolls. A dot is a batch of frames of one connection since the last state, the bigger the more; at most
// one dot per direction and connection starts in MIN_GAP_MS, and at most MOST_DOTS fly. None do while motion is off.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { motion } from "../../../common/viewer/motion.js";
import { remPx } from "../../../common/viewer/rem_px.js";
import { onFrames } from "../../frame_rates.js";
import { curveBetween, fly, pathOf, pointOn } from "../../../parts/stage/curves.js";

const FLIGHT_MS = 900;
const MIN_GAP_MS = 400;
const MOST_DOTS = 40;

/** @typedef {{ key: string, address: string, curve: ReturnType<typeof curveBetween> }} Line */

export function Links({ stage }) {
  const lines = useSignal(/** @type {Line[]} */ ([]));
  const dots = useRef(null);

  useEffect(() => {
    const box = stage.current; // no longer there when the tab has been closed
    let frame = 0;
    const measure = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        const next = measureLines(box);
        if (JSON.stringify(next) !== JSON.stringify(lines.peek())) lines.value = next;
      });
    };
    const sizes = new ResizeObserver(measure);
    const lists = [...box.querySelectorAll(".client-list")];
    [box, ...lists].forEach((element) => sizes.observe(element));
    // Cards inside come and go without changing the size of a scrolled list.
    const cards = new MutationObserver(measure);
    lists.forEach((list) => cards.observe(list, { childList: true, subtree: true }));
    box.addEventListener("scroll", measure, true);
    measure();
    return () => {
      cancelAnimationFrame(frame);
      sizes.disconnect();
      cards.disconnect();
      box.removeEventListener("scroll", measure, true);
    };
  }, []);

  useEffect(() => onFrames(flightStarter(dots, lines)), []);

  return html`
    <svg class="links" aria-hidden="true">
      ${lines.value.map((line) => html`<path key=${line.key} class="link" d=${pathOf(line.curve)} />`)}
    </svg>
    <div ref=${dots} class="link-dots" aria-hidden="true"></div>
  `;
}

/**
 * One line per linked card that is in sight: [{ key, address, curve }], the curve from client to broker. None where
 * the clients stand below the broker and not next to it.
 */
function measureLines(stage) {
  const origin = stage.getBoundingClientRect();
  const broker = stage.querySelector(".broker").getBoundingClientRect();
  if (stage.querySelector(".producers").getBoundingClientRect().right > broker.left) return [];
  const lines = [];
  for (const card of stage.querySelectorAll("[data-link]")) {
    const [side, address] = card.dataset.link.split(" ");
    const place = card.getBoundingClientRect();
    const column = card.closest(".client-list").getBoundingClientRect();
    if (place.bottom < column.top + 8 || place.top > column.bottom - 8) continue;
    const curve = horizontalLine(place, column, broker, origin, side);
    lines.push({ key: `${card.dataset.link}@${lines.length}`, address, curve });
  }
  return lines;
}

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

function horizontalLine(place, column, broker, origin, side) {
  const y = clamp(place.top + place.height / 2, column.top + 8, column.bottom - 8);
  const [from, to] = side === "producer" ? [place.right, broker.left] : [place.left, broker.right];
  const target = clamp(y, broker.top + 30, broker.bottom - 20);
  /** @returns {[number, number]} */
  const placed = (x, down) => [Math.round(x - origin.left), Math.round(down - origin.top)];
  return curveBetween(placed(from, y), placed(to, target));
}

/** A listener for frames that lets dots fly. It works on the DOM itself: dots are no state. */
function flightStarter(dots, lines) {
  const lastStart = new Map();
  return (address, framesIn, framesOut) => {
    if (!motion.peek() || document.hidden || !dots.current) return;
    for (const line of lines.peek()) {
      if (line.address !== address) continue;
      if (framesIn > 0) start(line, "in", framesIn);
      if (framesOut > 0) start(line, "out", framesOut);
    }
  };

  function start(line, direction, frames) {
    const key = `${line.key} ${direction}`;
    const now = performance.now();
    if (now - (lastStart.get(key) ?? -Infinity) < MIN_GAP_MS) return;
    lastStart.set(key, now);
    if (dots.current.childElementCount >= MOST_DOTS) return;
    const radius = clamp(0.25 + 0.07 * Math.log10(frames), 0.25, 0.45) * remPx.peek();
    const dot = fly(dots.current, `link-dot link-dot-${direction}`, (share) => pointOn(line.curve, share), radius, {
      duration: FLIGHT_MS,
      direction: direction === "in" ? "normal" : "reverse",
    });
    dot.style.width = dot.style.height = `${2 * radius}px`;
  }
}
