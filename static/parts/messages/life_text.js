// @ts-check
// What the marks of a message's life and its states are called in either world: a sign for the lane, a sentence for the
// list.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { shortMs } from "../../common/world/format.js";
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
const FAULT = html`<${Icon} name="fault" />`;
const RESULT_SIGNS = {
  success: "✓",
  commit: "✓",
  later: "↩",
  suspend: "↩",
  rollback: "↩",
  throws: "!",
  "timed-out": TIMER,
  died: FAULT,
  stopped: FAULT,
};

const word = (name) => name.replaceAll("-", "_");

export const signOf = (mark) => (mark.kind === "delayed" ? TIMER : (SIGNS[mark.kind] ?? "•"));
export const resultSign = (result) => (result === null ? "…" : (RESULT_SIGNS[result] ?? "•"));
export const resultWord = (result) => t(`lab.listener.${word(result)}`);
const stateWord = (state) => t(`lab.life.state_${word(state)}`);
const STATE_SIGNS = {
  waiting: "…",
  held: "▹",
  delivering: "▸",
  consumed: "✓",
  failed: "!",
  delayed: TIMER,
  dead: "†",
  filtered: "≠",
  skipped: "→",
  passed: "✓",
  unread: "?",
};
export const stateSign = (state) => STATE_SIGNS[state] ?? "•";

/** Is this how it should go? Others are drawn so that they stand out. */
export const isGood = (result) => result === "success" || result === "commit";

/**
 * A whole sentence about a mark.
 * @param {Picture.LifeMark} mark
 * @param {Picture.Clock} clock
 */
export function sentenceOf(mark, clock) {
  switch (mark.kind) {
    case "produced":
      return producedSentence(mark);
    case "refused":
    case "unknown":
      return t(`lab.life.${mark.kind}`, { node: mark.node, detail: mark.detail });
    case "delivered":
      return deliverySentence(mark, clock);
    default:
      return copySentence(mark, clock) + (mark.lost ? ` ${t("lab.life.lost")}` : "");
  }
}

/** @param {Picture.ProducedMark} mark */
function producedSentence({ node, batch, host }) {
  if (node === undefined) return t("lab.life.produced_at", { host });
  return batch ? t("lab.life.produced_batch", { node, n: batch.count, ...batch }) : t("lab.life.produced", { node });
}

const placeOf = (mark) => ({ topic: mark.topic, id: mark.queue_id, offset: mark.queue_offset, broker: mark.broker });

/** Kinds of copies that are described differently where they are for one group only. */
const OF_GROUP = { delayed: "given_back", due: "due_group", resent: "resent_group" };
const OF_ALL = { resent: "resent_topic" };

function copySentence(mark, clock) {
  const words = mark.group === null ? OF_ALL : OF_GROUP;
  return t(`lab.life.${words[mark.kind] ?? word(mark.kind)}`, {
    ...placeOf(mark),
    group: mark.group,
    n: mark.reconsume_times,
    level: mark.level,
    time: mark.until_us == null ? "–" : clock.span(mark.until_us - mark.at_us),
  });
}

function deliverySentence(mark, clock) {
  const took = clock.span((mark.until_us ?? clock.now()) - mark.at_us);
  const values = { ...placeOf(mark), node: mark.node, group: mark.group, n: mark.attempt, time: took };
  return (
    t("lab.life.delivered", values) +
    (mark.result === null
      ? t("lab.life.running", values)
      : t("lab.life.ended", { ...values, result: resultWord(mark.result) }))
  );
}

/**
 * "delayed, due in 3.2s": the state of a group.
 * @param {Picture.LifeInGroup} part
 * @param {Picture.Clock} clock
 */
export function outcomeOf({ state, attempts = 0, until_us: until }, clock) {
  const text =
    state === "delayed" && until !== null
      ? t("lab.life.delayed_left", { time: shortMs(Math.max(0, until - clock.now()) / 1000) })
      : stateWord(state);
  return attempts > 1 ? t("lab.life.with_attempts", { state: text, n: attempts }) : text;
}

/**
 * A sentence about what the state of a group means, with what is known of it.
 * @param {Picture.LifeInGroup} part
 */
export function explanationOf({ state, behind, expression, holder }) {
  if (state === "waiting" && behind !== undefined) return t("lab.life.state_waiting_behind", { n: behind });
  if (state === "filtered" && expression !== undefined) return t("lab.life.state_filtered_by", { expression });
  if (state === "delivering" && holder !== undefined) return t("lab.life.state_delivering_at", { holder });
  return t(`lab.life.state_${state}_text`, { holder });
}
