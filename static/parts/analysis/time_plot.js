// What plots over virtual time have in common: their size, the way from time to pixels, axes, a cursor, the canvas.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { compact, roundStep } from "../../common/format.js";
import { t } from "../../common/i18n.js";

const TICK_PX = 84;

/** [ref of the canvas, its size in pixels]. */
export function useSize() {
  const box = useRef(null);
  const size = useSignal({ width: 0, height: 0 });
  useEffect(() => {
    const observer = new ResizeObserver(
      ([{ contentRect }]) => (size.value = { width: contentRect.width, height: contentRect.height }),
    );
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return [box, size.value];
}

/** Between the stretch of time `range` and the pixels from `left` to `right`: x of a time, time of an x. */
export function timeScale({ left, right }, range) {
  const length = range.right - range.left || 1;
  return {
    range,
    x: (time) => left + ((Math.min(range.right, Math.max(range.left, time)) - range.left) / length) * (right - left),
    time: (x) => range.left + ((x - left) / (right - left)) * length,
  };
}

/** The time of the change after `at`, or, with `by` -1, of the one before; undefined: there is none. */
export const nextChange = (series, at, by) =>
  (by > 0 ? series.find(([time]) => time > at) : series.findLast(([time]) => time < at))?.[0];

/** The drawing, which keys and pointer go along; `readout`: the id of the text about the position of the cursor. */
export function Canvas({ box, size: { width, height }, label, readout, onKeyDown, onPoint, onLeave, children }) {
  return html`<div class="money-canvas" ref=${box}>
    ${
      width > 0 &&
      html`<svg
        width=${width}
        height=${height}
        tabindex="0"
        role="application"
        aria-roledescription=${t("lab.money.role")}
        aria-label=${label}
        aria-describedby=${readout}
        onKeyDown=${onKeyDown}
        onPointerMove=${(event) => onPoint(event.offsetX)}
        onPointerLeave=${onLeave}
      >
        ${children}
      </svg>`
    }
  </div>`;
}

/** A line over the whole height of a plot whose time axis is at `scale.floor`. */
export function Cursor({ scale, time }) {
  return time !== null && html`<path d=${`M${scale.x(time)} ${scale.top}V${scale.floor}`} class="money-cursor" />`;
}

/** `values`: what is written next to the vertical axis. */
export function Axes({ scale, values }) {
  const { rem, left, right, range } = scale;
  const step = roundStep((range.right - range.left) / Math.max(2, (right - left) / (TICK_PX * (rem / 14))));
  const times = [];
  for (let time = Math.ceil(range.left / step) * step; time <= range.right; time += step) times.push(time);
  const anchor = (time) => (time === 0 ? "start" : scale.x(time) > right - 1.4 * rem ? "end" : "middle");
  return html`<g class="money-axes" aria-hidden="true">
    ${values.map(
      (value) =>
        html`
          <path key=${value} d=${`M${left} ${scale.y(value)}H${right}`} />
          <text
            key=${`${value} text`}
            x=${left - 0.4 * rem}
            y=${scale.y(value)}
            text-anchor="end"
            dominant-baseline="middle"
          >
            ${compact(value)}
          </text>
        `,
    )}
    ${times.map(
      (time) =>
        html`
          <path key=${time} d=${`M${scale.x(time)} ${scale.floor}v4`} />
          <text key=${`${time} text`} x=${scale.x(time)} y=${scale.floor + 1.05 * rem} text-anchor=${anchor(time)}>
            ${secondsText(time, step)}
          </text>
        `,
    )}
  </g>`;
}

/** Seconds with as many digits as the step needs. */
const secondsText = (time, step) => `${(time / 1e6).toFixed(Math.max(0, Math.ceil(6 - Math.log10(step))))} s`;
