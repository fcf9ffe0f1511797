// @ts-check
// What clients and broker said to each other last, while it is recorded: the lab's sequence diagram.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { sendRequest } from "../../common/transport.js";
import { t } from "../../common/i18n.js";
import { axisOf } from "../../parts/stage/sequence_axis.js";
import { paintSequence } from "../../parts/stage/sequence_paint.js";
import { remPx } from "../../common/viewer/rem_px.js";

/** @typedef {{ lanes: [name: string, full: string][], frames: Picture.Frame[] }} Recorded */

const EVERY_MS = 1000;
/** How long a frame is drawn as flying: FLIGHT_US of app/lab/views/frame_recording_view.py. */
const FLIGHT_US = 500;

export function FrameRecordingStrip() {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const told = useSignal(/** @type {Recorded} */ ({ lanes: [], frames: [] }));
  useEffect(() => {
    const stop = new AbortController();
    const ask = async () => {
      const response = await sendRequest("/api/lab/wire", { signal: stop.signal });
      if (response.ok) told.value = await response.json();
    };
    // No answer, or no whole one: the next one comes in a second.
    const look = () => document.hidden || ask().catch(() => null);
    look();
    const timer = setInterval(look, EVERY_MS);
    return () => (stop.abort(), clearInterval(timer));
  }, []);
  useEffect(() => void (canvas.current && paintSequence(canvas.current, sceneOf(told.value))), [told.value]);
  const { lanes, frames } = told.value;
  return html`<div class="wire-strip">
    <canvas
      ref=${canvas}
      class="wire-canvas"
      style=${{ height: `${Math.max(8, 2 + 2.2 * lanes.length)}rem` }}
      role="img"
      aria-label=${t("record.strip", { n: String(frames.length) })}
    ></canvas>
    <p class="quiet">
      ${lanes.map(([name, full]) => html`<span key=${name} class="wire-lane"><strong>${name}</strong> ${full}</span>`)}
    </p>
  </div>`;
}

/** @param {Recorded} recorded */
function sceneOf({ lanes, frames }) {
  const moments = frames.flatMap((frame) => [frame.sent_us, frame.arrives_us]);
  const [left, right] = [Math.min(...moments, Infinity), Math.max(...moments, 0)];
  return {
    now: right,
    left: Number.isFinite(left) ? left : 0,
    right,
    points: axisOf(moments.length > 0 ? moments : [0, 1], FLIGHT_US),
    frames,
    flightUs: FLIGHT_US,
    unit: remPx.peek() / 14,
    lanes: lanes.map(([name]) => name),
    parts: new Map(),
    journal: [],
    calls: [],
    lastEvent: 0,
    commands: [],
    chain: [],
  };
}
