// The delay levels of the broker: where delayed messages and retries wait. There only once a message was delayed.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { count, span } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { brokerNowMs, state } from "../../../common/cluster/view.js";
import { Countdown } from "../../../parts/lane/marks.js";

const COLUMNS = [
  "live.delay.level",
  "live.delay.delay",
  "field.queue_id",
  "word.waiting",
  "live.delay.next",
  "live.delay.delivered",
];
const NUMBERS = ["live.delay.level", "word.waiting", "live.delay.delivered"];

export function DelayLevels() {
  const found = useComputed(() => state.value.delay_levels);
  const part = found.value;
  if (!part) return null;
  const used = new Map(part.levels.map((level) => [level.level, level]));
  return html`<section class="panel" id="delay-levels" tabindex="-1" aria-labelledby="delay-levels-title">
    <header class="panel-head">
      <h2 class="panel-title" id="delay-levels-title">${t("section.delay_levels")}</h2>
      <span class="quiet">${t("live.delay.hint")}</span>
    </header>
    <div class="group-details">
      <ol class="delay-strip" aria-label=${t("lab.delay.all", { n: part.delays_ms.length })}>
        ${part.delays_ms.map(
          (delay, index) => html`<${Cell} key=${index} index=${index} delay=${delay} level=${used.get(index + 1)} />`,
        )}
      </ol>
      <div class="table-scroll" tabindex="0" role="group" aria-labelledby="delay-levels-title">
        <table class="delay-table">
          <caption class="sr-only">${t("section.delay_levels")}</caption>
          <thead>
            <tr>
              ${COLUMNS.map(
                (column) =>
                  html`<th scope="col" key=${column} class=${NUMBERS.includes(column) ? "number" : ""}>
                    ${t(column)}
                  </th>`,
              )}
            </tr>
          </thead>
          <tbody>
            ${part.levels.map(
              (level) => html`<tr key=${level.level} data-level=${level.level}>
                <th scope="row" class="number">${level.level}</th>
                <td>${delayText(level.delay_ms)}</td>
                <td>Q${level.queue_id}</td>
                <td class=${level.waiting > 0 ? "number delay-waiting" : "number quiet"}>${count(level.waiting)}</td>
                <td><${Due} level=${level} /></td>
                <td class="number">${count(level.offset)} / ${count(level.max)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </div>
  </section>`;
}

/** 7200000 -> "2h", as RocketMQ writes its levels. */
function delayText(ms) {
  const [unit, letter] = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "m"],
    [1000, "s"],
  ].find(([size]) => ms % size === 0) ?? [1, "ms"];
  return `${ms / unit}${letter}`;
}

function Cell({ index, delay, level }) {
  const label = t(level ? "lab.delay.hint" : "lab.delay.unused", {
    level: index + 1,
    delay: delayText(delay),
    id: index,
    n: level?.waiting ?? 0,
    offset: level?.offset ?? 0,
  });
  return html`<li class=${`delay-cell ${level ? "is-used" : ""} ${level?.waiting ? "has-waiting" : ""}`} title=${label}>
    <span class="sr-only">${label}</span><span aria-hidden="true">${delayText(delay)}</span>
  </li>`;
}

function Due({ level }) {
  if (level.next_due_ms === null) return html`<span class="quiet">${t("lab.delay.nothing")}</span>`;
  const left = Math.max(0, level.next_due_ms - brokerNowMs.value);
  return html`<span class="timer">
    <${Countdown}
      left=${left}
      whole=${level.delay_ms}
      label=${t("live.delay.due", { seconds: Math.ceil(left / 1000) })}
    />
    <span class="number timer-text">${span(left)}</span>
  </span>`;
}
