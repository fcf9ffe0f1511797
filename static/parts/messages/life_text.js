// @ts-check
// What the marks on a message's lane are called: a sign for the lane, a word for the legend, a sentence for the list.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { shortMs, span } from "../../common/world/format.js";
import { Icon } from "../controls/icons.js";

/** Kind of a mark -> the sign on the lane. A delivery shows its number instead, a delay its level. */
const SIGNS = {
  produced: "▸",
  stored: "■",
  half: "½",
  "given-up": "Ø",
  due: "□",
  dead: "†",
  resent: "↻",
  refused: "✕",
  unknown: "?",
};
const TIMER = html`<${Icon} name="timer" />`;
const RESULT_SIGNS = {
  success: "✓",
  commit: "✓",
  later: "↩",
  suspend: "↩",
  rollback: "↩",
  throws: "!",
  "timed-out": TIMER,
  interrupted: html`<${Icon} name="fault" />`,
};

const word = (name) => name.replaceAll("-", "_");

export const signOf = (mark) => (mark.kind === "delayed" ? TIMER : (SIGNS[mark.kind] ?? "•"));
export const resultSign = (result) => (result === null ? "…" : (RESULT_SIGNS[result] ?? "•"));
export const resultWord = (result) => t(`lab.listener.${word(result)}`);
const stateWord = (state) => t(`lab.life.state_${word(state)}`);
const STATE_SIGNS = {
  waiting: "…",
  delivering: "▸",
  consumed: "✓",
  failed: "!",
  delayed: TIMER,
  dead: "†",
  filtered: "≠",
  skipped: "→",
};
export const stateSign = (state) => STATE_SIGNS[state] ?? "•";

/** Is this how it should go? Others are drawn so that they stand out. */
export const isGood = (result) => result === "success" || result === "commit";

/** A whole sentence about a mark. */
export function sentenceOf(mark, nowUs) {
  const place = { topic: mark.topic, id: mark.queue_id, offset: mark.queue_offset, broker: mark.broker };
  const lost = mark.lost ? ` ${t("lab.life.lost")}` : "";
  switch (mark.kind) {
    case "produced":
      return mark.batch
        ? t("lab.life.produced_batch", { node: mark.node, n: mark.batch.size, ...mark.batch })
        : t("lab.life.produced", { node: mark.node });
    case "refused":
    case "unknown":
      return t(`lab.life.${mark.kind}`, { node: mark.node, detail: mark.detail });
    case "delivered":
      return deliverySentence(mark, place, nowUs);
    case "delayed":
      return (
        t(mark.group === null ? "lab.life.delayed" : "lab.life.given_back", {
          level: mark.level,
          time: span(mark.until_us - mark.at_us),
          group: mark.group,
          n: mark.retry,
          broker: mark.broker,
        }) + lost
      );
    case "dead":
      return t("lab.life.dead", { group: mark.group, broker: mark.broker, n: mark.retry }) + lost;
    case "resent":
      return t(`lab.life.resent_${mark.to}`, { ...place, group: mark.group }) + lost;
    case "due":
      return (
        t(mark.group === null ? "lab.life.due" : "lab.life.due_group", { ...place, group: mark.group, n: mark.retry }) +
        lost
      );
    default:
      return t(`lab.life.${word(mark.kind)}`, place) + lost;
  }
}

function deliverySentence(mark, place, nowUs) {
  const took = span((mark.until_us ?? nowUs) - mark.at_us);
  const values = { ...place, node: mark.node, group: mark.group, n: mark.attempt, time: took };
  return (
    t("lab.life.delivered", values) +
    (mark.result === null
      ? t("lab.life.running", values)
      : t("lab.life.ended", { ...values, result: resultWord(mark.result) }))
  );
}

/** "delayed, due in 3.2s": the state of a group. */
export function outcomeOf({ state, attempts, until_us: until }, nowUs) {
  const text =
    state === "delayed" && until !== null
      ? t("lab.life.delayed_left", { time: shortMs(Math.max(0, until - nowUs) / 1000) })
      : stateWord(state);
  return attempts > 1 ? t("lab.life.with_attempts", { state: text, n: attempts }) : text;
}
