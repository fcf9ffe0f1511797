// @ts-check
// Transactions: the half messages of a broker, each with how long until it is asked about, those that were given up,
// and the local transactions of a producer.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { TopicMark } from "../lane/marks.js";
import { acting } from "../actions/thing.js";
import { shortMs, span } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";
import { Icon } from "../controls/icons.js";
import { isRecording } from "../../common/world/session.js";
import { isPointed, openHalf, pointedKey, view } from "../../common/world/view.js";
import { Bar } from "./node_card.js";
import { Part, Rule } from "./part.js";

/** Rows of a card; the others are counted. */
const MOST_ROWS = 10;
const MOST_ENDED = 6;
const MOST_GIVEN_UP = 5;

/** `part` is the view's, null while there was never a half message. */
export const Transactions = memo(({ broker, part }) => {
  const waiting = part.messages.filter((message) => message.decided_by === null).length;
  const rule = (name, key) => html`<${Rule} node=${broker} part=${name} label=${t(`lab.half.${key}`)} />`;
  const figure = (key, value) =>
    html`<span class="figure" title=${t(`lab.half.${key}_hint`)}>
      <span class="quiet">${t(`lab.half.${key}`)}</span> <span class="number">${value}</span>
    </span>`;
  const rows = part.messages.slice(0, MOST_ROWS);
  return html`<${Part}
    part="half_messages"
    name=${t("word.half_messages")}
    summary=${html`<span class=${waiting > 0 ? "" : "quiet"}>${t("lab.half.undecided", { n: waiting })}</span>`}
    class="half-messages"
    data-part="half-messages"
  >
    <p class="half-figures">
      ${figure("offset", `${count(part.half_offset)} / ${count(part.half_end)}`)}
      ${figure("ops", `${count(part.op_offset)} / ${count(part.op_end)}`)}
      ${part.checks_sent > 0 && figure("asked", count(part.checks_sent))}
      ${part.discarded > 0 && figure("discarded", count(part.discarded))}
    </p>
    <p class="rules">
      ${rule("transactions", "time_out")} ${rule("transaction_checks", "interval")}
      ${rule("transaction_limit", "limit")}
    </p>
    ${
      rows.length > 0 &&
      html`<ul class="half-rows">
        ${rows.map(
          (message) => html`<${Half} key=${message.queue_offset} broker=${broker} message=${message} part=${part} />`,
        )}
      </ul>`
    }
    ${
      part.messages.length > rows.length &&
      html`<p class="quiet">${t("word.more", { n: part.messages.length - rows.length })}</p>`
    }
    ${part.given_up.length > 0 && html`<${GivenUp} broker=${broker} part=${part} />`}
  </${Part}>`;
});

/** Opens the dialog in which a user decides; nothing can be decided in a recording. */
function Decide({ broker, message }) {
  if (isRecording()) return null;
  const label = t("lab.half.by_hand_of", { name: message.key || message.id });
  return html`<button
    type="button"
    class="button half-button"
    aria-haspopup="dialog"
    aria-label=${label}
    title=${label}
    onClick=${() => (openHalf.value = { broker, message })}
  >
    <${Icon} name="edit" />
  </button>`;
}

/** What TRANS_CHECK_MAX_TIME_TOPIC holds, newest first. */
function GivenUp({ broker, part }) {
  const rows = part.given_up.slice(-MOST_GIVEN_UP).reverse();
  return html`
    <h4 class="given-up-title" title=${t("lab.half.discarded_hint")}>
      ${t("lab.half.discarded")} <span class="quiet number">${part.given_up_end}</span>
    </h4>
    <ul class="half-rows" data-part="given-up">
      ${rows.map(
        (message) =>
          html`<${GivenUpRow} key=${message.queue_offset} broker=${broker} message=${message} max=${part.check_max} />`,
      )}
    </ul>
    ${
      part.given_up_end > rows.length &&
      html`<p class="quiet">${t("word.more", { n: part.given_up_end - rows.length })}</p>`
    }
  `;
}

const GivenUpRow = memo(({ broker, message, max }) => {
  const { key, queue_offset: queueOffset, check_times: checks, checked_again: again } = message;
  return html`<li
    class="half-row is-decided"
    data-given-up=${queueOffset}
    onPointerEnter=${() => (pointedKey.value = key || null)}
    onPointerLeave=${() => (pointedKey.value = null)}
  >
    <${HalfKey} broker=${broker} message=${message} />
    <${Place} message=${message} />
    <span class="badge number" title=${t("lab.half.checks_hint", { n: checks, max })}>
      ${t("lab.half.checks", { n: checks, max })}
    </span>
    <span class="half-state half-end">
      ${again === null ? t("lab.half.no_result") : t("lab.half.checked_again", { offset: again })}
    </span>
    ${again === null && html`<${Decide} broker=${broker} message=${message} />`}
  </li>`;
});

/** Its name, the button of what can be done to it. */
function HalfKey({ broker, message }) {
  const { queue_offset: queueOffset, key, id, group } = message;
  return html`<button
    class="half-key mono link-button ellipsis"
    ...${acting("half", { node: broker, id })}
    title=${t("lab.half.message", { offset: queueOffset, key: key || "–", group })}
  >
    ${key || `#${queueOffset}`}
  </button>`;
}

function Place({ message: { topic, queue_id: queueId } }) {
  return html`<span class="half-place ellipsis" title=${t("lab.half.place", { place: `${topic} Q${queueId}` })}>
    <span aria-hidden="true">→ </span><${TopicMark} topic=${topic} /><span class="sr-only">${topic}</span> Q${queueId}
  </span>`;
}

/** Reads the time, so it is drawn again whenever time passes. */
function Half({ broker, message, part }) {
  const { queue_offset: queueOffset, key, check_times: checks, decided_by: op } = message;
  return html`<li
    class=${`half-row ${op === null ? "" : "is-decided"} ${isPointed(key) ? "is-pointed" : ""}`}
    data-half=${queueOffset}
    onPointerEnter=${() => (pointedKey.value = key || null)}
    onPointerLeave=${() => (pointedKey.value = null)}
  >
    <${HalfKey} broker=${broker} message=${message} />
    <${Place} message=${message} />
    <span
      class=${`badge number ${checks > 0 ? "badge-warning" : ""}`}
      title=${t("lab.half.checks_hint", { n: checks, max: part.check_max })}
    >
      ${t("lab.half.checks", { n: checks, max: part.check_max })}
    </span>
    ${
      op === null
        ? html`<${Wait} message=${message} part=${part} />`
        : html`<span class="half-state half-decided" title=${t("lab.half.decided_hint", { op })}>
          ✓ ${t("lab.half.decided", { op })}
        </span>`
    }
    <${Decide} broker=${broker} message=${message} />
  </li>`;
}

/** Too young to be asked about, or waiting for the next round of the check service. */
function Wait({ message, part }) {
  const now = view.value.time_us;
  const [young, round] = [message.ask_from_us - now, part.next_round_us - now];
  const isYoung = young > 0;
  const word = isYoung ? "young" : message.check_times >= part.check_max ? "given_up" : "asked_in";
  const left = Math.max(0, isYoung ? young : round) / 1000;
  const label = t(`lab.half.${word}`, { time: shortMs(left) });
  return html`<span class="half-state" title=${label}>
    <${Bar}
      left=${left}
      whole=${isYoung ? part.time_out_ms : part.check_interval_ms}
      kind=${isYoung ? "bar-young" : "bar-due"}
      label=${label}
    />
    <span class="half-left">${label}</span>
  </span>`;
}

// ------------------------------------------------------------------------------------------------- producer

const SIGNS = { commit: "✓", rollback: "✕", unknown: "?", throws: "!" };

/** `part`: calls of the transaction listener, under way and ended. */
export const LocalTransactions = memo(({ part }) => {
  const point = (key) => ({
    onPointerEnter: () => (pointedKey.value = key),
    onPointerLeave: () => (pointedKey.value = null),
  });
  const name = (call) => (call.check === 0 ? t("lab.local.executes") : t("lab.local.check", { n: call.check }));
  return html`<section class="local-transactions" data-part="local-transactions" aria-label=${t("lab.local.title")}>
    <h3>${t("lab.local.title")}</h3>
    <ul class="local-calls">
      ${part.running.length + part.ended.length === 0 && html`<li class="quiet">${t("lab.none_yet")}</li>`}
      ${part.running.map(
        (call) =>
          html`<${Running}
            key=${`${call.key} ${call.check} ${call.since_us}`}
            call=${call}
            name=${name(call)}
            point=${point}
          />`,
      )}
      ${part.ended
        .slice(-MOST_ENDED)
        .reverse()
        .map(
          (call) => html`<li
            key=${`${call.key} ${call.check} ${call.time_us}`}
            class=${`local-call local-${call.result}`}
            ...${point(call.key)}
            title=${`${call.key} · ${name(call)} · ${t(`lab.local.result_${call.result}`)}`}
          >
            <span class="local-sign" aria-hidden="true">${SIGNS[call.result]}</span>
            <span class="ellipsis">${call.key}</span>
            <span class="local-check quiet">${call.check > 0 && `↻${call.check}`}</span>
            <span class="local-result">${t(`lab.local.${call.result}`)}</span>
          </li>`,
        )}
    </ul>
  </section>`;
});

function Running({ call, name, point }) {
  const spent = span(view.value.time_us - call.since_us);
  return html`<li class="local-call is-running" ...${point(call.key)} title=${`${call.key} · ${name} · ${spent}`}>
    <span class="local-sign" aria-hidden="true"><span class="call-sign"></span></span>
    <span class="ellipsis">${call.key}</span>
    <span class="local-check quiet">${call.check > 0 && `↻${call.check}`}</span>
    <span class="local-result number">${spent}</span>
  </li>`;
}
