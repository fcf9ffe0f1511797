// @ts-check
// What happened to each message, on a lane per message and group: produced, stored, delivered for the nth time, failed,
// delayed, redelivered, dead, resent. A selected message is also described in sentences.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { computed, effect, signal } from "@preact/signals";
import { typedKey } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { GroupMark, TopicMark } from "../lane/marks.js";
import { span, virtualTime } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";
import { Roving } from "../../common/roving.js";
import { findLives, isRecording } from "../../common/world/session.js";
import { accused, calmView, chosenEvent, openRecord, pointedKey, pointing, view } from "../../common/world/view.js";
import { axisOf, placed, shareOf, timeAt } from "./life_axis.js";
import { WhyButton } from "./why.js";
import { isGood, outcomeOf, resultSign, sentenceOf, signOf, stateSign } from "./life_text.js";

const wantedKey = signal("");
const onlyTroubled = signal(false);
const isBroken = signal(true);
/** Key of the message whose story is told, or null. */
const chosenKey = signal(/** @type {any} */ (null));
/** What the server found for the wanted key beyond what the view shows. */
const found = signal(/** @type {Picture.MessageLife[]} */ ([]));

/** Width of a lane in pixels, measured. */
const laneWidth = signal(480);
const remPx = signal(14);
const measureRem = () => (remPx.value = parseFloat(getComputedStyle(document.documentElement).fontSize));
addEventListener("themechange", measureRem);

const SEARCH_AFTER_MS = 300;
let searchTimer = 0;
effect(() => {
  const text = typedKey(wantedKey.value);
  // Look again when the world has moved on.
  const { event, life } = calmView.value;
  clearTimeout(searchTimer);
  if (!text || !life || life.omitted === 0 || isRecording()) {
    found.value = [];
    return;
  }
  searchTimer = setTimeout(async () => {
    const messages = await findLives(text).catch(() => []);
    if (typedKey(wantedKey.peek()) === text && calmView.peek().event >= event) found.value = messages;
  }, SEARCH_AFTER_MS);
});

const shown = computed(() => {
  const text = typedKey(wantedKey.value).toLowerCase();
  const messages = {
    ...Object.fromEntries(found.value.map((one) => [one.key, one])),
    ...(calmView.value.life?.messages ?? {}),
  };
  return Object.values(messages)
    .filter((one) => one.key.toLowerCase().includes(text) && (!onlyTroubled.value || one.in_trouble))
    .sort((a, b) => Number(b.in_trouble) - Number(a.in_trouble) || a.at_us - b.at_us);
});

export function Life() {
  const { life, time_us: now } = calmView.value;
  if (!life || life.total === 0) return html`<p class="panel-empty quiet">${t("lab.life.nothing_yet")}</p>`;
  const messages = shown.value;
  const axis = axisOf(
    [...messages.flatMap((one) => one.marks.flatMap(timesOf)), now].filter((time) => isBroken.value || time <= now),
    isBroken.value,
  );
  return html`<div class="life">
    <${Tools} life=${life} n=${messages.length} />
    ${
      messages.length === 0
        ? html`<p class="panel-empty quiet">${t("lab.no_match")}</p>`
        : html`<div class="life-lanes">
          <${Axis} axis=${axis} now=${now} />
          <ul class="life-rows">
            ${messages.map(
              (one) =>
                html`<${Message}
                  key=${one.key}
                  message=${one}
                  axis=${axis}
                  now=${now}
                  width=${laneWidth.value}
                  rem=${remPx.value}
                  isChosen=${chosenKey.value === one.key}
                  isPointed=${pointedKey.value === one.key}
                  isAccused=${accused.value.has(one.key)}
                />`,
            )}
          </ul>
        </div>`
    }
    <${Legend} />
  </div>`;
}

/** @returns {number[]} */
const timesOf = (/** @type {any} */ { at_us: at, until_us: until }) => (until == null ? [at] : [at, until]);

function Tools({ life, n }) {
  const more = life.omitted > 0 && !wantedKey.value ? t("lab.life.omitted", { n: life.omitted }) : "";
  return html`<div class="life-tools">
    <label class="field">
      <span>${t("lab.life.filter")}</span>
      <input
        type="search"
        name="life-key"
        autocomplete="off"
        spellcheck=${false}
        value=${wantedKey.value}
        onInput=${(event) => (wantedKey.value = event.currentTarget.value)}
      />
    </label>
    <label class="form-switch">
      <input
        type="checkbox"
        name="troubled"
        checked=${onlyTroubled.value}
        onChange=${(event) => (onlyTroubled.value = event.currentTarget.checked)}
      />
      <span>${t("lab.life.only_troubled")} <span class="number quiet">${life.in_trouble}</span></span>
    </label>
    <label class="form-switch">
      <input
        type="checkbox"
        name="broken-axis"
        checked=${isBroken.value}
        onChange=${(event) => (isBroken.value = event.currentTarget.checked)}
      />
      <span>${t("lab.life.broken")}</span>
    </label>
    <span class="quiet life-count" role="status">${t("lab.life.count", { n, total: life.total })} ${more}</span>
  </div>`;
}

/** Times under the lanes; where the axis is broken, how long nothing happened. */
function Axis({ axis, now }) {
  const track = useRef(/** @type {any} */ (null));
  useEffect(() => {
    measureRem();
    const watch = new ResizeObserver(
      ([entry]) => (laneWidth.value = Math.max(80, Math.floor(entry.contentRect.width))),
    );
    watch.observe(track.current);
    return () => watch.disconnect();
  }, []);
  const wide = axis.breaks.filter(({ left, right }) => (right - left) * laneWidth.value > 3 * remPx.value);
  const room = (4.5 * remPx.value) / laneWidth.value;
  const ticks = [];
  for (let share = 0; share <= 1 - room / 2; share += room)
    if (!wide.some(({ left, right }) => share + room / 2 > left && share - room / 3 < right)) ticks.push(share);
  return html`<div class="life-lane life-axis" aria-hidden="true">
    <span></span>
    <span></span>
    <span class="life-track" ref=${track}>
      ${ticks.map(
        (share) =>
          html`<span key=${share} class="life-tick number" style=${{ left: `${100 * share}%` }}>
            ${secondsAt(timeAt(axis, share))}
          </span>`,
      )}
      ${wide.map(
        ({ from, gap, left, right }) =>
          html`<span
            key=${`b${from}`}
            class="life-break"
            style=${{ left: `${100 * left}%`, width: `${100 * (right - left)}%` }}
          >
            ${span(gap)}
          </span>`,
      )}
      <span class="life-now" style=${{ left: `${100 * shareOf(axis, now)}%` }}></span>
    </span>
    <span></span>
  </div>`;
}

const secondsAt = (us) => `${(us / 1e6).toFixed(us < 100e6 ? 2 : 0)} s`;

const Message = memo(({ message, axis, now, width, rem, isChosen, isPointed, isAccused }) => {
  const groups = Object.keys(message.groups).sort();
  const lanes = groups.length > 0 ? groups : [null];
  const choose = () => (chosenKey.value = isChosen ? null : message.key);
  const marks = `${isChosen ? "is-chosen" : ""} ${isPointed ? "is-pointed" : ""} ${isAccused ? "is-accused" : ""}`;
  return html`<li
    class=${`life-message ${marks}`}
    data-life=${message.key}
    ...${pointing(message.key)}
  >
    ${lanes.map(
      (group, index) => html`<div class="life-lane" key=${group ?? ""}>
        ${
          index === 0
            ? html`<button
              type="button"
              class="life-key link-button"
              aria-expanded=${isChosen}
              onClick=${choose}
              onFocus=${() => (pointedKey.value = message.key)}
              title=${t("lab.life.open", { key: message.key })}
            >
              <span class="life-twist" aria-hidden="true">${isChosen ? "▾" : "▸"}</span>
              <span class="ellipsis mono">${message.key}</span>
            </button>`
            : html`<span></span>`
        }
        ${
          group === null
            ? html`<${TopicMark} topic=${message.topic} />`
            : html`<${GroupMark} group=${group} size=${1.05} />`
        }
        <${Lane} message=${message} group=${group} axis=${axis} now=${now} width=${width} rem=${rem} />
        ${
          group === null
            ? html`<span class="life-outcome quiet">${t("lab.life.no_group")}</span>`
            : html`<${Outcome} state=${message.groups[group]} now=${now} />`
        }
      </div>`,
    )}
    ${isChosen && html`<${Story} message=${message} now=${now} />`}
  </li>`;
});

function Outcome({ state, now }) {
  return html`<span class=${`life-outcome life-state-${state.state}`}>
    <span class="life-sign" aria-hidden="true">${stateSign(state.state)}</span> ${outcomeOf(state, now)}
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

function Lane({ message, group, axis, now, width, rem }) {
  const marks = marksOf(message, group);
  const items = marks.map((mark) => ({
    from: mark.at_us,
    to: mark.kind === "delivered" ? (mark.until_us ?? now) : (mark.until_us ?? null),
    least: (WIDTHS[mark.kind] ?? 1.25) * rem,
  }));
  const places = placed(items, axis, width);
  return html`<${Roving}
    as="span"
    class="life-track"
    role="group"
    aria-label=${t("lab.life.lane", { key: message.key, group: group ?? "–" })}
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
          mark=${mark}
          left=${places[index].left}
          width=${places[index].width}
          now=${now}
          message=${message}
        />`,
    )}
    <span class="life-now" style=${{ left: `${100 * shareOf(axis, now)}%` }}></span>
  </${Roving}>`;
}

/** A mark opens what it stands for: the event in the log and the sequence, or the record in the commit log. */
function open(mark, key) {
  if (mark.event !== undefined) chosenEvent.value = mark.event;
  else
    openRecord.value = {
      broker: mark.broker,
      record: { offset: mark.offset, key, topic: mark.topic, queue_id: mark.queue_id, queue_offset: mark.queue_offset },
    };
}

function Mark({ mark, left, width, now, message }) {
  const label = `${virtualTime(mark.at_us)} s: ${sentenceOf(mark, now)}`;
  const kind =
    mark.kind === "delivered"
      ? `life-delivered ${mark.result === null ? "is-running" : isGood(mark.result) ? "is-good" : "is-bad"}`
      : `life-${mark.kind}`;
  const style = { left: `${left}px`, width: `${width}px` };
  return html`<button
    type="button"
    class=${`life-mark ${kind} ${mark.lost ? "is-lost" : ""}`}
    tabindex="-1"
    data-roving
    data-mark=${mark.kind}
    style=${style}
    title=${label}
    aria-label=${label}
    onClick=${() => open(mark, message.key)}
    onFocus=${() => (pointedKey.value = message.key)}
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

/** The same in sentences. */
function Story({ message, now }) {
  return html`<ol class="life-story" aria-label=${t("lab.life.story", { key: message.key })}>
    <li class="life-why"><${WhyButton} of=${message.key} /></li>
    ${
      message.omitted_marks > 0 &&
      html`<li class="quiet">${t("lab.life.omitted_marks", { n: message.omitted_marks })}</li>`
    }
    ${message.marks.map(
      (mark, index) => html`<li key=${index}>
        <button type="button" class="life-line link-button" onClick=${() => open(mark, message.key)}>
          <span class="number life-time">${virtualTime(mark.at_us)} s</span>
          <span class="life-line-sign" aria-hidden="true">
            ${mark.kind === "delivered" ? resultSign(mark.result) : signOf(mark)}
          </span>
          <span>${sentenceOf(mark, now)}</span>
        </button>
      </li>`,
    )}
    ${Object.entries(message.groups).map(
      ([group, state]) => html`<li key=${group} class="life-line">
        <span class="number life-time">${virtualTime(view.value.time_us)} s</span>
        <span class="life-line-sign" aria-hidden="true">${stateSign(state.state)}</span>
        <span>
          ${t("lab.life.group_state", { group, state: outcomeOf(state, now) })}${" "}
          ${t(`lab.life.state_${state.state}_text`)}
        </span>
      </li>`,
    )}
  </ol>`;
}

function Legend() {
  const entry = (kind, sign) =>
    html`<span class="life-legend-item" key=${kind}>
      <span class=${`life-mark ${kind}`}>${sign}</span>
      ${t(
        `lab.life.legend_${kind
          .split(" ")
          .at(-1)
          .replace(/^(life|is)-/, "")
          .replaceAll("-", "_")}`,
      )}
    </span>`;
  return html`<p class="life-legend" aria-hidden="true">
    ${entry("life-produced", "▸")}
    ${entry("life-stored", "■")}
    ${entry("life-delivered is-good", "1 ✓")}
    ${entry("life-delivered is-bad", "1 !")}
    ${entry("life-delayed", "3")}
    ${entry("life-dead", "†")}
    ${entry("life-resent", "↻")}
    ${entry("life-unknown", "?")}
  </p>`;
}
