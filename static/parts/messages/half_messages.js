// @ts-check
// The half messages of a broker, each with how long until it is asked about or with what was decided, and those that
// were given up.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";
import { shortMs } from "../../common/world/format.js";
import { Bar } from "../lane/bar.js";
import { TopicMark } from "../lane/marks.js";

/** @typedef {Picture.HalfMessage | Picture.GivenUpMessage} AnyHalf */
/**
 * What a page does with the messages, and how much of them it shows.
 * @typedef {object} HalfSource
 * @property {(message: AnyHalf) => object} open  properties of the button that a message's key is
 * @property {(message: AnyHalf) => unknown} act  the button or buttons at the end of a row
 * @property {(key: string) => object} pointing  properties of a row: what the pointer on it marks elsewhere
 * @property {(key: string) => boolean} isPointed
 * @property {boolean} isWide  whether there is room for producer group and age
 * @property {number} most  rows; the others are counted
 */

/** @param {Picture.Transactions} part */
export const undecided = (part) => part.messages.filter((message) => message.decided_by === null);

/**
 * When a message is asked about next, and of how long: it is too young, or waits for the check service's next round.
 *
 * @param {Picture.HalfMessage} message
 * @param {Picture.Transactions} part
 * @param {Picture.Clock} clock
 */
export function nextCheck(message, part, clock) {
  const isYoung = message.ask_from_us > clock.now();
  return isYoung
    ? { isYoung, atUs: message.ask_from_us, wholeMs: part.time_out_ms }
    : { isYoung, atUs: part.next_round_us, wholeMs: part.check_interval_ms };
}

/** How often a message was asked about, of the `max` times that are allowed. */
export const Checks = ({ n, max }) =>
  html`<span class=${`badge number ${n > 0 ? "badge-warning" : ""}`} title=${t("lab.half.checks_hint", { n, max })}>
    ${t("lab.half.checks", { n, max })}
  </span>`;

/**
 * `rules` are the settings behind it, where they can be edited.
 * @param {{ part: Picture.Transactions, clock: Picture.Clock, source: HalfSource, rules?: unknown }} properties
 */
export function HalfMessages({ part, clock, source, rules }) {
  const figure = (key, value) =>
    html`<span class="figure" title=${t(`lab.half.${key}_hint`)}>
      <span class="quiet">${t(`lab.half.${key}`)}</span> <span class="number">${value}</span>
    </span>`;
  const rows = part.messages.slice(0, source.most);
  return html`
    <p class="half-figures">
      ${figure("offset", `${count(part.half_offset)} / ${count(part.half_end)}`)}
      ${figure("ops", `${count(part.op_offset)} / ${count(part.op_end)}`)}
      ${part.checks_sent > 0 && figure("asked", count(part.checks_sent))}
      ${part.discarded > 0 && figure("discarded", count(part.discarded))}
    </p>
    ${rules}
    ${
      rows.length > 0 &&
      html`<ul class=${`half-rows ${source.isWide ? "is-wide" : ""}`}>
        ${rows.map((message) => html`<${Half} key=${message.queue_offset} ...${{ message, part, clock, source }} />`)}
      </ul>`
    }
    ${
      part.messages.length > rows.length &&
      html`<p class="quiet">${t("word.more", { n: part.messages.length - rows.length })}</p>`
    }
    ${part.given_up.length > 0 && html`<${GivenUp} ...${{ part, clock, source }} />`}
  `;
}

/** What TRANS_CHECK_MAX_TIME_TOPIC holds, newest first. */
function GivenUp({ part, clock, source }) {
  const rows = part.given_up.slice(-Math.ceil(source.most / 2)).reverse();
  const heading = source.isWide ? "h3" : "h4";
  return html`
    <${heading} class="given-up-title" title=${t("lab.half.discarded_hint")}>
      ${t("lab.half.discarded")} <span class="quiet number">${part.given_up_end}</span>
    </${heading}>
    <ul class=${`half-rows ${source.isWide ? "is-wide" : ""}`} data-part="given-up">
      ${rows.map(
        (message) =>
          html`<${GivenUpRow} key=${message.queue_offset} max=${part.check_max} ...${{ message, clock, source }} />`,
      )}
    </ul>
    ${
      part.given_up_end > rows.length &&
      html`<p class="quiet">${t("word.more", { n: part.given_up_end - rows.length })}</p>`
    }
  `;
}

const GivenUpRow = memo(({ message, max, clock, source }) => {
  const { key, queue_offset: queueOffset, checked_again: again } = message;
  return html`<li class="half-row is-decided" data-given-up=${queueOffset} ...${source.pointing(key)}>
    <${Facts} ...${{ message, max, clock, source }} />
    <span class="half-state half-end">
      ${again === null ? t("lab.half.no_result") : t("lab.half.checked_again", { offset: again })}
    </span>
    ${again === null && source.act(message)}
  </li>`;
});

/** Reads the time, so it is drawn again whenever time passes. */
function Half({ message, part, clock, source }) {
  const { queue_offset: queueOffset, key, decided_by: op } = message;
  return html`<li
    class=${`half-row ${op === null ? "" : "is-decided"} ${source.isPointed(key) ? "is-pointed" : ""}`}
    data-half=${queueOffset}
    ...${source.pointing(key)}
  >
    <${Facts} max=${part.check_max} ...${{ message, clock, source }} />
    ${op === null ? html`<${Wait} ...${{ message, part, clock }} />` : html`<${Decided} message=${message} />`}
    ${source.act(message)}
  </li>`;
}

/** What rows of both lists begin with: the key, which is a button, where the message goes, and its checks. */
function Facts({ message, max, clock, source }) {
  const { queue_offset: queueOffset, key, group, topic, queue_id: queueId, check_times: checks } = message;
  return html`
    <button
      class="half-key mono link-button ellipsis"
      ...${source.open(message)}
      title=${t("lab.half.message", { offset: queueOffset, key: key || "–", group })}
    >
      ${key || `#${queueOffset}`}
    </button>
    <span class="half-place ellipsis" title=${t("lab.half.place", { place: `${topic} Q${queueId}` })}>
      <span aria-hidden="true">→ </span><${TopicMark} topic=${topic} />
      <span class=${source.isWide ? "" : "sr-only"}>${topic}</span> Q${queueId}
    </span>
    ${
      source.isWide &&
      html`
        <span class="ellipsis" title=${t("word.producer_group")}>${group}</span>
        <span class="number" title=${t("live.half.age")}>
          ${clock.span(Math.max(0, clock.now() - message.born_us))}
        </span>
      `
    }
    <${Checks} n=${checks} max=${max} />
  `;
}

function Decided({ message: { decided_by: op, outcome } }) {
  const isBack = outcome === "rolled-back";
  return html`<span
    class=${`half-state half-decided ${isBack ? "is-back" : ""}`}
    title=${t("lab.half.decided_hint", { op })}
  >
    ${isBack ? "✕" : "✓"}${" "}
    ${outcome === null ? t("lab.half.decided", { op }) : t(isBack ? "lab.half.rolled_back" : "lab.half.committed")}
  </span>`;
}

/** Too young to be asked about, or waiting for the next round of the check service. */
function Wait({ message, part, clock }) {
  const { isYoung, atUs, wholeMs } = nextCheck(message, part, clock);
  const word = isYoung ? "young" : message.check_times >= part.check_max ? "given_up" : "asked_in";
  const left = Math.max(0, atUs - clock.now()) / 1000;
  const label = t(`lab.half.${word}`, { time: shortMs(left) });
  return html`<span class="half-state" title=${label}>
    <${Bar} left=${left} whole=${wholeMs} kind=${isYoung ? "bar-young" : "bar-due"} label=${label} />
    <span class="half-left">${label}</span>
  </span>`;
}
