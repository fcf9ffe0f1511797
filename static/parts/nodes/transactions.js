// @ts-check
// Transactions: the half messages on a broker's card, and the local transactions of a producer.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { acting } from "../actions/thing.js";
import { span } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";
import { Button } from "../controls/button.js";
import { Icon } from "../controls/icons.js";
import { HalfMessages, undecided } from "../messages/half_messages.js";
import { isRecording } from "../../common/world/session.js";
import { isPointed, pointing } from "../../common/viewer/pointed.js";
import { openHalf, view } from "../../common/world/view.js";
import { worldClock } from "../../common/world/world_clock.js";
import { Part, Rule } from "./part.js";

/** Rows of a card; the others are counted. */
const MOST_ROWS = 10;
const MOST_ENDED = 6;

/** `part` is the view's, null while there was never a half message. */
export const Transactions = memo(({ broker, part }) => {
  const waiting = undecided(part).length;
  const rule = (name, key) => html`<${Rule} node=${broker} part=${name} label=${t(`lab.half.${key}`)} />`;
  return html`<${Part}
    part="half_messages"
    name=${t("word.half_messages")}
    summary=${html`<span class=${waiting > 0 ? "" : "quiet"}>${t("lab.half.undecided", { n: waiting })}</span>`}
    class="half-messages"
  >
    <${HalfMessages}
      part=${part}
      clock=${worldClock}
      source=${sourceOf(broker)}
      rules=${html`<p class="rules">
        ${rule("transactions", "time_out")} ${rule("transaction_checks", "interval")}
        ${rule("transaction_limit", "limit")}
      </p>`}
    />
  </${Part}>`;
});

/** Broker -> its source: the same object each time, so that rows are drawn again only when their message changes. */
const sources = new Map();

/** @returns {import("../messages/half_messages.js").HalfSource} */
function sourceOf(broker) {
  if (!sources.has(broker))
    sources.set(broker, {
      open: ({ id }) => acting("half", { node: broker, id }),
      act: (message) => html`<${Decide} broker=${broker} message=${message} />`,
      pointing: (key) => pointing(key || null),
      isPointed,
      isWide: false,
      most: MOST_ROWS,
    });
  return sources.get(broker);
}

/** Opens the dialog in which a user decides; nothing can be decided in a recording. */
function Decide({ broker, message }) {
  if (isRecording()) return null;
  const label = t("lab.half.by_hand_of", { name: message.key || message.id });
  return html`<${Button}
    class="button half-button" aria-haspopup="dialog" label=${label}
    onClick=${() => (openHalf.value = { broker, message })}
  >
    <${Icon} name="edit" />
  </${Button}>`;
}

// ------------------------------------------------------------------------------------------------- producer

const SIGNS = { commit: "✓", rollback: "✕", unknown: "?", throws: "!" };

/** `part`: calls of the transaction listener, under way and ended. */
export const LocalTransactions = memo(({ part }) => {
  const name = (call) => (call.check === 0 ? t("lab.local.executes") : t("lab.local.check", { n: call.check }));
  return html`<section class="local-transactions" data-part="local-transactions" aria-label=${t("lab.local.title")}>
    <h3>${t("lab.local.title")}</h3>
    <ul class="local-calls">
      ${part.running.length + part.ended.length === 0 && html`<li class="quiet">${t("lab.none_yet")}</li>`}
      ${part.running.map(
        (call) =>
          html`<${Running} key=${`${call.key} ${call.check} ${call.since_us}`} call=${call} name=${name(call)} />`,
      )}
      ${part.ended
        .slice(-MOST_ENDED)
        .reverse()
        .map(
          (call) => html`<li
            key=${`${call.key} ${call.check} ${call.time_us}`}
            class=${`local-call local-${call.result}`}
            ...${pointing(call.key)}
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

function Running({ call, name }) {
  const spent = span(view.value.time_us - call.since_us);
  return html`<li class="local-call is-running" ...${pointing(call.key)} title=${`${call.key} · ${name} · ${spent}`}>
    <span class="local-sign" aria-hidden="true"><span class="call-sign"></span></span>
    <span class="ellipsis">${call.key}</span>
    <span class="local-check quiet">${call.check > 0 && `↻${call.check}`}</span>
    <span class="local-result number">${spent}</span>
  </li>`;
}
