// @ts-check
// The life of a message in either world: a lane per group with the marks of what happened, on an axis of the world's
// time, and the same in sentences. A world gives its clock and its source.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { remPx } from "../../common/viewer/rem_px.js";
import { useWidth } from "../../common/viewer/sight.js";
import { Roving } from "../../common/roving.js";
import { GroupMark, TopicMark } from "../lane/marks.js";
import { axisOf, placed, shareOf, timeAt } from "./life_axis.js";
import { explanationOf, isGood, outcomeOf, resultSign, sentenceOf, signOf, stateSign } from "./life_text.js";

/**
 * What a page does with a message and its marks.
 * @typedef {object} LifeSource
 * @property {(mark: Picture.LifeMark, key: string) => (() => void) | null} open  opens what a mark stands for; null:
 *   the page has nothing to open
 * @property {(mark: Picture.LifeMark) => boolean} isOpen  whether the page shows it already
 * @property {(key: string) => void} point  the focus is on a mark of the message
 * @property {(message: Picture.MessageLife) => any} tools  what the sentences begin with
 */

/** Width of a lane in pixels, measured. */
const laneWidth = signal(480);

/** @returns {number[]} */
export const timesOf = (/** @type {any} */ { at_us: at, until_us: until }) => (until == null ? [at] : [at, until]);

/** What a message is called. */
const nameOf = ({ key, topic }) => key || topic;

/**
 * One message on a page of its own, as it was at `seenUs`.
 * @param {{ message: Picture.MessageLife, clock: Picture.Clock, source: LifeSource, seenUs: number }} properties
 */
export function MessageLife({ message, clock, source, seenUs }) {
  const axis = axisOf([...message.marks.flatMap(timesOf), clock.now()], true);
  const since = (us) => `+${clock.span(us - message.at_us)}`;
  const name = (group) => html`<span class="ellipsis">${group ?? ""}</span>`;
  return html`<div class="life life-single">
    <${LifeAxis} axis=${axis} clock=${clock} tickOf=${since} />
    <${Lanes} ...${{ message, axis, clock, source, name }} />
    <${Story} ...${{ message, clock, source, seenUs }} />
  </div>`;
}

/**
 * Times above the lanes; where the axis is broken, how long nothing happened.
 * @param {{ axis: any, clock: Picture.Clock, tickOf: (us: number) => string }} properties
 */
export function LifeAxis({ axis, clock, tickOf }) {
  const track = useWidth((width) => (laneWidth.value = Math.max(80, Math.floor(width))));
  const wide = axis.breaks.filter(({ left, right }) => (right - left) * laneWidth.value > 3 * remPx.value);
  const room = (4.5 * remPx.value) / laneWidth.value;
  const ticks = [];
  for (let share = 0; share <= 1 - room / 2; share += room) {
    const text = tickOf(timeAt(axis, share));
    const isFree = !wide.some(({ left, right }) => share + room / 2 > left && share - room / 3 < right);
    if (isFree && ticks.at(-1)?.text !== text) ticks.push({ share, text });
  }
  return html`<div class="life-lane life-axis" aria-hidden="true">
    <span></span>
    <span></span>
    <span class="life-track" ref=${track}>
      ${ticks.map(
        ({ share, text }) =>
          html`<span key=${share} class="life-tick number" style=${{ left: `${100 * share}%` }}>${text}</span>`,
      )}
      ${wide.map(
        ({ from, gap, left, right }) =>
          html`<span
            key=${`b${from}`}
            class="life-break"
            style=${{ left: `${100 * left}%`, width: `${100 * (right - left)}%` }}
          >
            ${clock.span(gap)}
          </span>`,
      )}
      <${Now} ...${{ axis, clock }} />
    </span>
    <span></span>
  </div>`;
}

const Now = ({ axis, clock }) =>
  html`<span class="life-now" style=${{ left: `${100 * shareOf(axis, clock.now())}%` }}></span>`;

/**
 * The lanes of a message, one per group; of a message that no group reads, one.
 * @param {{ message: Picture.MessageLife, axis: any, clock: Picture.Clock, source: LifeSource,
 *   name: (group: string | null, index: number) => any }} properties  `name`: what a lane begins with
 */
export function Lanes({ message, axis, clock, source, name }) {
  const groups = Object.keys(message.groups).sort();
  return (groups.length > 0 ? groups : [null]).map(
    (group, index) => html`<div class="life-lane" key=${group ?? ""}>
      ${name(group, index)}
      ${
        group === null
          ? html`<${TopicMark} topic=${message.topic} />`
          : html`<${GroupMark} group=${group} size=${1.05} />`
      }
      <${Lane} ...${{ message, group, axis, clock, source }} />
      ${
        group === null
          ? html`<span class="life-outcome quiet">${t("lab.life.no_group")}</span>`
          : html`<${Outcome} part=${message.groups[group]} clock=${clock} />`
      }
    </div>`,
  );
}

function Outcome({ part, clock }) {
  return html`<span class=${`life-outcome life-state-${part.state}`}>
    <span class="life-sign" aria-hidden="true">${stateSign(part.state)}</span> ${outcomeOf(part, clock)}
  </span>`;
}

/** The marks of a group's lane: what concerns all groups, and what concerns this one. A copy that came at the end of a
    delay is left out once it is delivered: the delay's bar ends there. */
function marksOf(message, group) {
  const isDelivered = (copy) =>
    message.marks.some(
      (mark) =>
        mark.kind === "delivered" &&
        mark.topic === copy.topic &&
        mark.queue_id === copy.queue_id &&
        mark.queue_offset === copy.queue_offset &&
        mark.broker === copy.broker,
    );
  return message.marks.filter(
    (mark) => (mark.group == null || mark.group === group) && !(mark.kind === "due" && isDelivered(mark)),
  );
}

const WIDTHS = { delivered: 1.55, delayed: 1.9 };

function Lane({ message, group, axis, clock, source }) {
  const marks = marksOf(message, group);
  const items = marks.map((mark) => ({
    from: mark.at_us,
    to: mark.kind === "delivered" ? (mark.until_us ?? clock.now()) : (mark.until_us ?? null),
    least: (WIDTHS[mark.kind] ?? 1.25) * remPx.value,
  }));
  const places = placed(items, axis, laneWidth.value);
  return html`<${Roving}
    as="span"
    class="life-track"
    role="group"
    aria-label=${t("lab.life.lane", { key: nameOf(message), group: group ?? "–" })}
  >
    ${axis.breaks.map(
      ({ from, left, right }) =>
        html`<span
          key=${`b${from}`}
          class="life-gap"
          style=${{ left: `${100 * left}%`, width: `${100 * (right - left)}%` }}
        ></span>`,
    )}
    ${marks.map(
      (mark, index) =>
        html`<${Mark}
          key=${`${mark.kind} ${mark.at_us} ${mark.offset ?? mark.event}`}
          place=${places[index]}
          ...${{ mark, message, clock, source }}
        />`,
    )}
    <${Now} ...${{ axis, clock }} />
  </${Roving}>`;
}

function Mark({ mark, place: { left, width }, message, clock, source }) {
  const label = `${clock.at(mark.at_us)}: ${sentenceOf(mark, clock)}`;
  const kind =
    mark.kind === "delivered"
      ? `life-delivered ${mark.result === null ? "is-running" : isGood(mark.result) ? "is-good" : "is-bad"}`
      : `life-${mark.kind}`;
  const open = source.open(mark, message.key);
  return html`<button
    type="button"
    class=${`life-mark ${kind} ${mark.lost ? "is-lost" : ""}`}
    tabindex="-1"
    data-roving
    data-mark=${mark.kind}
    style=${{ left: `${left}px`, width: `${width}px` }}
    title=${label}
    aria-label=${label}
    aria-disabled=${open === null}
    onClick=${open}
    onFocus=${() => source.point(message.key)}
  >
    ${
      mark.kind === "delivered"
        ? html`<span class="number">${mark.attempt}</span><span>${resultSign(mark.result)}</span>`
        : mark.kind === "delayed"
          ? html`<span class="life-level number">${mark.level}</span>`
          : signOf(mark)
    }
  </button>`;
}

/**
 * The same in sentences. `seenUs`: when the groups were in their states; by default now.
 * @param {{ message: Picture.MessageLife, clock: Picture.Clock, source: LifeSource, seenUs?: number }} properties
 */
export function Story({ message, clock, source, seenUs = clock.now() }) {
  const tools = source.tools(message);
  return html`<ol class="life-story" aria-label=${t("lab.life.story", { key: nameOf(message) })}>
    ${tools && html`<li class="life-why">${tools}</li>`}
    ${
      message.omitted_marks > 0 &&
      html`<li class="quiet">${t("lab.life.omitted_marks", { n: message.omitted_marks })}</li>`
    }
    ${message.marks.map((mark, index) => html`<${Sentence} key=${index} ...${{ mark, message, clock, source }} />`)}
    ${Object.entries(message.groups).map(
      ([group, part]) => html`<li key=${group} class="life-line" data-group=${group} data-state=${part.state}>
        <span class="number life-time">${clock.at(seenUs)}</span>
        <span class="life-line-sign" aria-hidden="true">${stateSign(part.state)}</span>
        <span>${t("lab.life.group_state", { group, state: outcomeOf(part, clock) })} ${explanationOf(part)}</span>
      </li>`,
    )}
  </ol>`;
}

function Sentence({ mark, message, clock, source }) {
  const open = source.open(mark, message.key);
  const isOpen = source.isOpen(mark);
  const line = html`
    <span class="number life-time">${clock.at(mark.at_us)}</span>
    <span class="life-line-sign" aria-hidden="true">
      ${mark.kind === "delivered" ? resultSign(mark.result) : signOf(mark)}
    </span>
    <span>${sentenceOf(mark, clock)}</span>
  `;
  return html`<li data-step=${mark.kind} aria-current=${isOpen ? "step" : undefined}>
    ${
      open === null || isOpen
        ? html`<span class="life-line">${line}</span>`
        : html`<button type="button" class="life-line link-button" onClick=${open}>${line}</button>`
    }
  </li>`;
}
