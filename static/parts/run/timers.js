// @ts-check
// The timers that are running, the next to fire first, with the time left as a bar.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { allOf, firstOf } from "../../common/elements.js";
import { t } from "../../common/i18n.js";
import { onPaint, shownTime } from "../../common/world/clock.js";
import { acting } from "../actions/thing.js";
import { span } from "../../common/world/format.js";
import { labelText } from "../../common/world/labels.js";
import { runUntil } from "../../common/world/session.js";
import { settingOfTimer } from "../../common/world/settings.js";
import { runningTimers } from "../../common/world/view.js";
import { Button } from "../controls/button.js";
import { SettingButton } from "../actions/setting_button.js";

const MOST = 40;
/** Bars need no more pictures than this; rows of figures cost the browser a layout each. */
const PAINT_EVERY_MS = 150;

export function Timers() {
  const timers = useComputed(() => runningTimers.value.slice(0, MOST));
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  // Bars and figures move with every picture; the rows are rendered only when timers come and go.
  useEffect(() => {
    let paintedAt = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let last;
    const paint = (time) => {
      clearTimeout(last);
      const rest = PAINT_EVERY_MS - (performance.now() - paintedAt);
      // The last picture before the world rests is what stays to be read: it is late, but never left out.
      if (rest > 0) last = setTimeout(() => paint(shownTime()), rest);
      else {
        paintedAt = performance.now();
        if (list.current) for (const row of allOf(".timer-row", HTMLElement, list.current)) paintRow(row, time);
      }
    };
    const stop = onPaint(paint);
    return () => (clearTimeout(last), stop());
  }, []);
  if (timers.value.length === 0) return html`<p class="panel-empty quiet">${t("lab.timers.none")}</p>`;
  const now = shownTime();
  return html`<ul class="timers" ref=${list}>
    ${timers.value.map(
      (timer) => html`<li
        key=${`${timer.actor} ${timer.label} ${timer.due_us}`}
        class="timer-row"
        data-start=${timer.started_us}
        data-due=${timer.due_us}
      >
        <span class="timer-node">${timer.node}</span>
        <button
          class="timer-name link-button ellipsis"
          ...${acting("timer", { timer })}
          title=${`${timer.actor}: ${labelText(timer.label)}`}
        >
          ${labelText(timer.label || timer.actor.slice(timer.actor.lastIndexOf("/") + 1))}
        </button>
        <${Button}
          class="timer-left number link-button"
          onClick=${() => runUntil({ on: "time", node: "", contains: "", time_us: timer.due_us })}
          title=${t("lab.timers.run", { actor: timer.actor })}
        >
          ${span(timer.due_us - now)}
        </${Button}>
        <span class="timer-setting"><${SettingButton} node=${timer.node} name=${settingOfTimer(timer)} /></span>
        <span class="bar" aria-hidden="true"><span class="bar-fill"></span></span>
      </li>`,
    )}
  </ul>`;
}

/**
 * @param {HTMLElement} row
 * @param {number} time
 */
function paintRow(row, time) {
  const [start, due] = [Number(row.dataset.start), Number(row.dataset.due)];
  const left = Math.max(0, due - time);
  const share = Math.min(1, left / Math.max(1, due - start));
  firstOf(".bar-fill", HTMLElement, row).style.transform = `scaleX(${share.toFixed(3)})`;
  const text = span(left);
  const figure = firstOf(".timer-left", HTMLElement, row);
  if (figure.textContent !== text) figure.textContent = text;
}
