// @ts-check
// The delay levels of a broker: all of them in a row, and for those that were used how many messages wait in the queue
// of the level, when the next one is due, and how far it has been delivered.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";
import { shortMs } from "../../common/world/format.js";
import { Bar } from "../lane/bar.js";

/** @param {{ part: Picture.DelayLevels, clock: Picture.Clock }} properties */
export function DelayLevels({ part, clock }) {
  const used = new Map(part.levels.map((level) => [level.level, level]));
  return html`<${DelayStrip} delays=${part.delays_ms} used=${used} />
    <ul class="delay-rows">
      ${part.levels.map((level) => html`<${Level} key=${level.level} level=${level} clock=${clock} />`)}
    </ul>`;
}

/** Every level as a small cell; a used one is marked, and says how many wait. */
function DelayStrip({ delays, used }) {
  return html`<ol class="delay-strip" aria-label=${t("lab.delay.all", { n: delays.length })}>
    ${delays.map((delay, index) => {
      const level = used.get(index + 1);
      const label = t(level ? "lab.delay.hint" : "lab.delay.unused", {
        level: index + 1,
        delay: shortMs(delay),
        id: index,
        n: level?.waiting ?? 0,
        offset: level?.offset ?? 0,
      });
      return html`<li
        key=${index}
        class=${`delay-cell ${level ? "is-used" : ""} ${level?.waiting ? "has-waiting" : ""}`}
        title=${label}
      >
        <span class="sr-only">${label}</span><span aria-hidden="true">${shortMs(delay)}</span>
      </li>`;
    })}
  </ol>`;
}

const Level = memo(
  ({ level, clock }) => html`<li
    class="delay-row"
    data-level=${level.level}
    title=${t("lab.delay.hint", {
      level: level.level,
      delay: shortMs(level.delay_ms),
      id: level.queue_id,
      n: level.waiting,
      offset: level.offset,
    })}
  >
    <span class="delay-name">
      ${t("lab.delay.level", { level: level.level })} <span class="mono">${shortMs(level.delay_ms)}</span>
    </span>
    <span class="mono quiet">Q${level.queue_id}</span>
    <span class="number" title=${t("lab.delay.delivered_hint")}>${count(level.offset)} / ${count(level.max)}</span>
    <span class=${level.waiting > 0 ? "delay-waiting" : "quiet"}>
      ${level.waiting > 0 ? t("lab.waiting", { n: level.waiting }) : t("lab.delay.nothing")}
    </span>
    ${level.next_due_us !== null && html`<${Due} level=${level} clock=${clock} />`}
  </li>`,
);

/** Counts down with time, while the rest of a row stays as it is. */
function Due({ level, clock }) {
  const left = Math.max(0, (level.next_due_us - clock.now()) / 1000);
  const label = t("lab.delay.next", { time: shortMs(left) });
  return html`<span class="delay-due">
    <${Bar} left=${left} whole=${level.delay_ms} kind="bar-due" label=${label} />
    <span class="number" aria-hidden="true">${shortMs(left)}</span>
  </span>`;
}
