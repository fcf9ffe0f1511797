// The frames on the links. A frame in flight is a button at the place that its time says: what can be done to it, down
// to its bytes. A frame that came and went between two pictures leaves a short trace. Signs: frame_words.js.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { motion } from "../../../live/view.js";
import { remPx } from "../../../live/lane_axis.js";
import { onPaint, repaint } from "../../clock.js";
import { acting } from "../../deeds/thing.js";
import { span } from "../../format.js";
import { frameName, frameShape, shortName } from "../../frame_words.js";
import { Roving } from "../../roving.js";
import { framesInFlight, view } from "../../view.js";
import { endsOf, measureLines, pointOn } from "./curves.js";
import { Links } from "./links.js";

export { frameName } from "../../frame_words.js";

const MOST_BUTTONS = 32;
const MOST_TRACES = 24;
const TRACE_MS = 420;
/** A lost frame stays to be seen for so long, in virtual time. */
const LOST_US = 30_000;
/** Requests and responses fly beside each other, not over each other; pixels. */
const ASIDE = 5;

export function Flights({ stage }) {
  const lines = useSignal(new Map());
  const pairs = useRef(new Set());
  const traces = useRef(null);
  const buttons = useRef(new Map());
  const flying = useComputed(() => [...lostFrames(view.value), ...framesInFlight.value].slice(0, MOST_BUTTONS));
  const hidden = useComputed(() => Math.max(0, framesInFlight.value.length - MOST_BUTTONS));

  useEffect(() => {
    let wanted = 0;
    const measure = () => {
      cancelAnimationFrame(wanted);
      wanted = requestAnimationFrame(() => {
        lines.value = measureLines(stage.current, pairs.current);
        repaint();
      });
    };
    const sizes = new ResizeObserver(measure);
    sizes.observe(stage.current);
    stage.current.querySelectorAll(".column").forEach((column) => sizes.observe(column));
    const stop = view.subscribe(({ frames }) => {
      const before = pairs.current.size;
      for (const frame of frames) if (frame.source !== frame.target) pairs.current.add(pairOf(frame));
      if (pairs.current.size !== before) measure();
    });
    measure();
    return () => (sizes.disconnect(), stop());
  }, []);

  useEffect(
    () =>
      onPaint((time) => {
        for (const [id, { element, frame }] of buttons.current) {
          const line = lines.peek().get(pairOf(frame));
          if (!line || !element.isConnected) {
            if (!element.isConnected) buttons.current.delete(id);
            continue;
          }
          const [x, y] = placeOn(line, frame, frame.dropped ? 0.5 : shareOf(frame, time));
          element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
          element.style.setProperty("--aside", asideOf(line, x));
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
            buttons=${buttons.current}
          />`,
      )}
    </${Roving}>
    ${hidden.value > 0 && html`<p class="flights-more quiet">${t("lab.flights.more", { n: hidden.value })}</p>`}
  `;
}

/** Where the name stands: over the sign in the middle of the gap, and on the gap's side of it near a node. */
function asideOf(line, x) {
  const [[left], [right]] = endsOf(line);
  const share = right - left < 20 ? 0.5 : Math.min(1, Math.max(0, (x - left) / (right - left)));
  return `${(-100 * share).toFixed(0)}%`;
}

function FrameButton({ frame, line, buttons }) {
  const element = useRef(null);
  useEffect(() => {
    buttons.set(frame.id, { element: element.current, frame });
    repaint();
  }, [frame]);
  const [x, y] = placeOn(line, frame, frame.dropped ? 0.5 : shareOf(frame, view.peek().time_us));
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
    data-frame=${frame.id}
    data-key=${frame.key}
    aria-label=${label}
    title=${label}
    style=${{ transform: `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`, "--aside": asideOf(line, x) }}
    ...${acting("frame", { frame })}
  >
    <span class="frame-sign" aria-hidden="true">${frame.dropped ? "✕" : ""}</span>
    <span class="frame-name">${shortName(frame)}</span>
  </button>`;
}

const pairOf = ({ source, target }) => (source < target ? `${source} ${target}` : `${target} ${source}`);
const shareOf = (frame, time) =>
  Math.min(1, Math.max(0, (time - frame.sent_us) / Math.max(1, frame.arrives_us - frame.sent_us)));
const lostFrames = ({ frames, time_us: now }) =>
  frames.filter((frame) => frame.dropped && frame.source !== frame.target && now - frame.sent_us < LOST_US).slice(-6);

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
  const trace = document.createElement("span");
  trace.className = `trace frame-${frameShape(frame)}`;
  trace.innerHTML = "<span class='frame-sign'></span>";
  box.append(trace);
  const radius = 0.36 * remPx.peek();
  const places = [0, 0.25, 0.5, 0.75, 1].map((share) => placeOn(line, frame, share));
  const flight = trace.animate(
    places.map(([x, y]) => ({ transform: `translate(${(x - radius).toFixed(1)}px, ${(y - radius).toFixed(1)}px)` })),
    { duration: TRACE_MS, easing: "ease-in-out" },
  );
  flight.onfinish = flight.oncancel = () => trace.remove();
}
