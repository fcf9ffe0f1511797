// @ts-check
// The frames on the links. A frame in flight is a button at the place that its time says: what can be done to it, down
// to its bytes. A frame that came and went between two pictures leaves a short trace. Signs: frame_words.js.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { motion } from "../../common/viewer/motion.js";
import { remPx } from "../../common/viewer/rem_px.js";
import { onPaint, repaint } from "../../common/world/clock.js";
import { acting } from "../actions/thing.js";
import { span } from "../../common/world/format.js";
import { frameName, frameShape, shortName } from "../../common/world/frame_words.js";
import { Roving } from "../../common/roving.js";
import { LOST_MS, LostFrames } from "../../common/world/lost_frames.js";
import { framesInFlight, view } from "../../common/world/view.js";
import { boxOf, endsOf, fly, measureLines, pointOn } from "./curves.js";
import { LabelRoom } from "./labels.js";
import { Links } from "./links.js";

const MOST_BUTTONS = 32;
const MOST_TRACES = 24;
const TRACE_MS = 420;
/** Of more frames of one name on one way only the first says it. */
const MOST_NAMES = 3;
/** The distance between requests and responses, so that they do not overlap; pixels. */
const ASIDE = 5;
/** The distance of a frame's name from the middle of its sign; rem, as in nodes.css. */
const NAME_AWAY = 0.35;
/** How far to the left of its sign a name may go. */
const NAME_SIDES = ["-100%", "-100%", "-50%", "-50%", "0%", "0%"];

export function Flights({ stage }) {
  const lines = useSignal(new Map());
  // Since when, in virtual time, a frame is known between the two.
  const pairs = useRef(new Map());
  const shown = useRef(/** @type {string | null} */ (null));
  const traces = useRef(null);
  const buttons = useRef(new Map());
  // What names may not cover, how far they may go, and the size of each.
  const cards = useRef(/** @type {import("./labels.js").Box[]} */ ([]));
  const width = useRef(Infinity);
  const sizes = useRef(new Map());
  const lost = useLostFrames();
  const flying = useComputed(() => [...lost.value, ...framesInFlight.value].slice(0, MOST_BUTTONS));
  const hidden = useComputed(() => Math.max(0, framesInFlight.value.length - MOST_BUTTONS));

  const counts = useComputed(() => countBy(flying.value, wayOf));
  const named = useComputed(() => new Map(flying.value.toReversed().map((frame) => [wayOf(frame), frame.id])));

  useEffect(() => {
    let wanted = 0;
    const measure = () => {
      cancelAnimationFrame(wanted);
      wanted = requestAnimationFrame(() => {
        lines.value = measureLines(stage.current, pairs.current.keys());
        cards.current = [...stage.current.querySelectorAll("[data-node]")].map((card) => boxOf(card, stage.current));
        width.current = stage.current.scrollWidth;
        sizes.current.clear();
        repaint();
      });
    };
    const resized = new ResizeObserver(measure);
    resized.observe(stage.current);
    stage.current.querySelectorAll(".column").forEach((column) => resized.observe(column));
    const stop = view.subscribe(({ frames, event, time_us: now, world: { id } }) => {
      const known = pairs.current;
      const before = [...known.keys()].join();
      const isAnother = event === 0 || id !== shown.current;
      shown.current = id;
      for (const [pair, since] of known) if (isAnother || since > now) known.delete(pair);
      for (const frame of frames) {
        const pair = pairOf(frame);
        if (frame.source !== frame.target) known.set(pair, Math.min(frame.sent_us, known.get(pair) ?? Infinity));
      }
      if ([...known.keys()].join() !== before) measure();
    });
    measure();
    return () => (resized.disconnect(), stop());
  }, []);

  useEffect(
    () =>
      onPaint((time) => {
        const bounds = { left: 0, top: -Infinity, right: width.current, bottom: Infinity };
        const room = new LabelRoom(cards.current, bounds);
        for (const [id, { element, frame }] of buttons.current) {
          const line = lines.peek().get(pairOf(frame));
          if (!line || !element.isConnected) {
            if (!element.isConnected) buttons.current.delete(id);
            continue;
          }
          const [x, y] = placeOn(line, frame, shareOf(frame, time));
          element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
          const aside = asideOf(line, x);
          setAside(element, aside);
          const name = element.querySelector(".frame-name");
          if (name) placeName(name, [x, y], aside, frame, room, sizes.current);
        }
      }),
    [],
  );
  useEffect(() => traceStarter(traces, lines), []);

  return html`
    <${Links} lines=${lines} />
    <div class="traces" ref=${traces} aria-hidden="true"></div>
    <${Roving} class="flights" role="group" aria-label=${t("lab.flights.title", { n: flying.value.length })}>
      ${flying.value.map(
        (frame) =>
          lines.value.has(pairOf(frame)) &&
          html`<${FrameButton}
            key=${frame.id}
            frame=${frame}
            line=${lines.value.get(pairOf(frame))}
            isNamed=${counts.value.get(wayOf(frame)) <= MOST_NAMES || named.value.get(wayOf(frame)) === frame.id}
            buttons=${buttons.current}
          />`,
      )}
    </${Roving}>
    ${hidden.value > 0 && html`<p class="flights-more quiet">${t("lab.flights.more", { n: hidden.value })}</p>`}
  `;
}

/** Where the name is: over the sign in the middle of the gap, and on the gap's side of it near a node; of a line
    between two nodes above each other, which is at their left, at its left. */
function asideOf(line, x) {
  const [[left], [right]] = endsOf(line);
  const share = right - left < 20 ? 1 : Math.min(1, Math.max(0, (x - left) / (right - left)));
  return `${(-100 * share).toFixed(0)}%`;
}

/** Shows a frame's name above or below its sign, where it covers no node and no other name; else not. `aside`: how far
    to the left, as asideOf() says, is tried first. */
function placeName(name, [x, y], aside, frame, room, sizes) {
  const text = name.textContent;
  if (!sizes.has(text)) sizes.set(text, [name.offsetWidth, name.offsetHeight]);
  const [width, height] = sizes.get(text);
  const away = NAME_AWAY * remPx.peek();
  const isBelow = !["request", "oneway", "lost"].includes(frameShape(frame));
  // Each side first where names of its kind are, then opposite.
  const place = room.place([aside, aside, ...NAME_SIDES], (side, index) => {
    const below = isBelow === (index % 2 === 0);
    const left = x + (parseFloat(side) / 100) * width;
    const top = below ? y + away : y - away - height;
    return { side, below, left, top, right: left + width, bottom: top + height };
  });
  name.classList.toggle("is-crowded", !place);
  name.classList.toggle("is-below", place?.below ?? isBelow);
  setAside(name, place?.side ?? aside);
}

/** Written anew, even the same value would make the browser compute styles. */
function setAside({ style }, aside) {
  if (style.getPropertyValue("--aside") !== aside) style.setProperty("--aside", aside);
}

const wayOf = (frame) => `${frame.source} ${frame.target} ${shortName(frame)}`;

const countBy = (list, keyOf) => {
  const counts = new Map();
  for (const one of list) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1);
  return counts;
};

function FrameButton({ frame, line, isNamed, buttons }) {
  const element = useRef(null);
  useEffect(() => {
    buttons.set(frame.id, { element: element.current, frame });
    repaint();
  }, [frame]);
  const [x, y] = placeOn(line, frame, shareOf(frame, view.peek().time_us));
  const label = t(frame.dropped ? "lab.flights.lost" : "lab.flights.frame", {
    name: frameName(frame),
    source: frame.source,
    target: frame.target,
    left: span(frame.arrives_us - view.peek().time_us),
  });
  return html`<button
    ref=${element}
    class=${`frame frame-${frameShape(frame)}`}
    tabindex="-1"
    data-roving
    aria-label=${label}
    title=${label}
    style=${{ transform: `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`, "--aside": asideOf(line, x) }}
    ...${acting("frame", { frame })}
  >
    <span class="frame-sign" aria-hidden="true">${frame.dropped ? "✕" : ""}</span>
    ${isNamed && html`<span class="frame-name is-crowded">${shortName(frame)}</span>`}
  </button>`;
}

const pairOf = ({ source, target }) => (source < target ? `${source} ${target}` : `${target} ${source}`);
/** How far it has come on its way, or had when it was lost. */
const shareOf = (frame, time) =>
  frame.dropped
    ? (frame.lost_share ?? 0.5)
    : Math.min(1, Math.max(0, (time - frame.sent_us) / Math.max(1, frame.arrives_us - frame.sent_us)));

/** A signal: the frames that were lost just now, the last of them last. */
function useLostFrames() {
  const lost = useSignal(/** @type {Picture.Frame[]} */ ([]));
  useEffect(() => {
    const known = new LostFrames(view.peek().time_us);
    let timer = 0;
    const look = () => {
      lost.value = known.look(view.peek(), performance.now());
      clearTimeout(timer);
      if (known.isTimed) timer = setTimeout(look, LOST_MS);
    };
    const stop = view.subscribe(look);
    return () => (stop(), clearTimeout(timer));
  }, []);
  return lost;
}

function placeOn(line, frame, share) {
  const isForward = frame.source < frame.target;
  const at = isForward ? share : 1 - share;
  const [x, y] = pointOn(line, at);
  return [x, y + (isForward ? -ASIDE : ASIDE)];
}

/** Lets traces fly for frames that arrived since the last picture of a playing world. They are no state. */
function traceStarter(traces, lines) {
  let lastId = 0;
  return view.subscribe(({ frames, playing, time_us: now }) => {
    const newest = frames.at(-1)?.id ?? lastId;
    if (playing && motion.peek() && !document.hidden && traces.current) {
      for (const frame of frames) {
        if (frame.id <= lastId || frame.arrives_us > now || frame.dropped) continue;
        if (traces.current.childElementCount >= MOST_TRACES) break;
        const line = lines.peek().get(pairOf(frame));
        if (line) start(traces.current, line, frame);
      }
    }
    lastId = newest;
  });
}

function start(box, line, frame) {
  const placeAt = (share) => placeOn(line, frame, share);
  const trace = fly(box, `trace frame-${frameShape(frame)}`, placeAt, 0.36 * remPx.peek(), { duration: TRACE_MS });
  trace.innerHTML = "<span class='frame-sign'></span>";
}
