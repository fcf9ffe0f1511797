// @ts-check
// Dead letters of a group in a table: what they are, why the group gave them up, and what became of resending them.
// Both worlds draw it.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { columnsOf, nameOf, placeOf } from "./dead_letter_facts.js";
import { resultWord } from "./life_text.js";
import { Button } from "../controls/button.js";
import { ScrollingTable } from "../panel/table.js";

/**
 * A stored message: a dead letter, or the message that one was resent as.
 *
 * @typedef {{ key: string, topic: string, queue_id: number, queue_offset: number, offset: number }} Stored
 */
/**
 * What a page does with dead letters.
 *
 * @typedef {object} DeadLetterSource
 * @property {(stored: Stored) => void} open Shows it.
 * @property {(name: string) => object} pointing Properties of a row: what the pointer on it marks elsewhere.
 * @property {((messages: Picture.DeadLetter[]) => void) | null} ask Asks whether to resend them; null: nothing can be
 *   resent here.
 */
/**
 * Dead letters that a user selects.
 *
 * @typedef {object} Choice
 * @property {(message: Picture.DeadLetter) => boolean} has
 * @property {(messages: Picture.DeadLetter[], isOn: boolean) => void} choose
 */

/**
 * @param {object} properties
 * @param {Picture.DeadLetterPage} properties.part
 * @param {Picture.Clock} properties.clock
 * @param {DeadLetterSource} properties.source
 * @param {Choice} [properties.choice]
 * @param {string} properties.title
 */
export function DeadLetterTable({ part, clock, source, choice, title }) {
  const columns = columnsOf(part.messages, source.ask !== null);
  const lead = choice && html`<th scope="col"><${ChooseAll} messages=${part.messages} choice=${choice} /></th>`;
  const heads = columns.map(({ name, isNumber }) => [name, isNumber ? "number" : ""]);
  return html`<${ScrollingTable}
    label=${title} kind="figure-table dead-table" caption=${title} columns=${heads} lead=${lead}
  >
    ${part.messages.toReversed().map(
      (message) =>
        html`<${Row}
            key=${message.offset} group=${part.group.group} ...${{ message, columns, clock, source, choice }}
          />`,
    )}
  </${ScrollingTable}>`;
}

/** @param {{ messages: Picture.DeadLetter[], choice: Choice }} properties */
function ChooseAll({ messages, choice }) {
  const open = messages.filter((message) => message.resent === null);
  return html`<input
    type="checkbox"
    name="choose-all"
    aria-label=${t("live.dead.choose_all")}
    title=${t("live.dead.choose_all")}
    checked=${open.length > 0 && open.every(choice.has)}
    onChange=${(event) => choice.choose(open, event.currentTarget.checked)}
  />`;
}

function Row({ group, message, columns, clock, source, choice }) {
  const [name, place] = [nameOf(message), placeOf(message)];
  const { queue_id, queue_offset, offset, resent } = message;
  /** By the name of their column. */
  const cells = {
    "word.offset": () => html`<td class="number">${place}</td>`,
    "word.key": () =>
      html`<th scope="row">
        <${Button}
          class="link-button mono ellipsis dead-key" title=${t("live.dead.open", { id: message.id })}
          onClick=${() => source.open({ key: name, topic: `%DLQ%${group}`, queue_id, queue_offset, offset })}
        >
          ${name}
        </${Button}>
      </th>`,
    "live.dead.col_topic": () => html`<td>${message.topic ?? "–"}</td>`,
    "word.retries": () => html`<td class="number">${count(message.retries)}</td>`,
    "live.dead.col_cause": () => html`<${Cause} cause=${message.cause} />`,
    "lab.dead.col_why": () => html`<td>${message.last_result === null ? "–" : resultWord(message.last_result)}</td>`,
    "live.dead.col_dead_at": () => html`<td class="dead-at">${clock.at(message.dead_us)}</td>`,
    "word.body": () =>
      html`<td class="dead-body ellipsis" title=${message.body_preview}>
        ${message.body_preview || t("live.records.body_bytes", { n: message.body_bytes })}
      </td>`,
    "word.state": () =>
      html`<td>
        ${
          resent
            ? html`<${Button} class="link-button dead-resent" onClick=${() => source.open({ key: name, ...resent })}>
              ↻ ${t("lab.dead.resent", { topic: resent.topic, id: resent.queue_id, offset: resent.queue_offset })}
            </${Button}>`
            : t(message.resent_known ? "lab.dead.waits" : "live.dead.not_known")
        }
      </td>`,
    "word.action": () =>
      html`<td>
        <${Button}
          class="button row-button" data-resend=${place} aria-haspopup="dialog"
          aria-label=${t("lab.dead.resend_of", { key: name })} onClick=${() => source.ask([message])}
        >
          ${t("lab.dead.resend")}
        </${Button}>
      </td>`,
  };
  return html`<tr data-dead-letter=${place} ...${source.pointing(name)}>
    ${
      choice &&
      html`<td>
        <input
          type="checkbox"
          checked=${choice.has(message)}
          aria-label=${t("live.dead.choose", { key: name })}
          onChange=${(event) => choice.choose([message], event.currentTarget.checked)}
        />
      </td>`
    }
    ${columns.map((column) => cells[column.name]())}
  </tr>`;
}

function Cause({ cause }) {
  const word = `live.dead.cause_${cause.replaceAll("-", "_")}`;
  return html`<td title=${t(`${word}_hint`)}>${t(word)}</td>`;
}
