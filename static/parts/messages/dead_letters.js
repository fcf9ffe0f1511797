// @ts-check
// The dead letters of a group on one broker: what they are, why they died, as far as known, and sending them
// again. A dead letter stays where it is: the resent message names the dead letter.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { COMMANDS } from "../../common/world/commands.js";
import { virtualTime } from "../../common/world/format.js";
import { command, isRecording } from "../../common/world/session.js";
import { openDeadLetters, openRecord, pointing, view } from "../../common/world/view.js";
import { Dialog } from "../controls/dialog.js";
import { Anyway } from "./anyway.js";
import { resultWord } from "./life_text.js";

const COLUMNS = [
  "word.offset",
  "lab.dead.col_message",
  "live.dead.col_topic",
  "lab.dead.col_given_back",
  "lab.dead.col_why",
  "live.dead.col_dead_at",
  "word.state",
];
const NUMBERS = ["word.offset", "lab.dead.col_given_back", "live.dead.col_dead_at"];

/** Opens the dialog from a broker's card. */
export function DeadLettersButton({ broker, group }) {
  return html`<button
    type="button"
    class="button row-button dead-letters-button"
    aria-haspopup="dialog"
    data-dead-letters=${group}
    onClick=${() => (openDeadLetters.value = { broker, group })}
    aria-label=${t("lab.dead.open_of", { group, broker })}
  >
    ${t("lab.dead.open")}
  </button>`;
}

export function DeadLettersDialog() {
  const open = openDeadLetters.value;
  const title = open && t("lab.dead.title", open);
  return html`<${Dialog}
    isOpen=${open !== null}
    onClose=${() => (openDeadLetters.value = null)}
    id="dead-letters-dialog"
    kind="inspector dead-letters-dialog"
    title=${title ?? ""}
  >
    ${open && html`<${Letters} key=${`${open.broker} ${open.group}`} ...${open} />`}
  </${Dialog}>`;
}

function Letters({ broker, group }) {
  const to = useSignal("group");
  const anyway = useSignal(false);
  const part = view.value.nodes[broker]?.dead_letters?.[group];
  if (!part) return html`<p class="quiet">${t("lab.dead.none")}</p>`;
  const canResend = !isRecording() && "resend-dead-letter" in COMMANDS;
  const resend = (message) =>
    command("resend-dead-letter", broker, {
      group,
      message: message.id,
      to: to.value,
      ...(message.resent ? { anyway: true } : {}),
    });
  const rows = part.messages.toReversed();
  const older = part.count - part.messages.length;
  return html`
    <p>${t("lab.dead.what", { group })}</p>
    ${
      canResend &&
      html`<fieldset class="dead-ways">
        <legend>${t("lab.dead.to")}</legend>
        ${["group", "topic"].map(
          (way) => html`<label class="dead-way" key=${way}>
            <input type="radio" name="to" value=${way} checked=${to.value === way} onChange=${() => (to.value = way)} />
            <span>
              <strong>${t(`lab.dead.to_${way}`, { group })}</strong> ${t(`lab.dead.to_${way}_text`, { group })}
            </span>
          </label>`,
        )}
      </fieldset>`
    }
    ${
      canResend &&
      rows.some((message) => message.resent) &&
      html`<${Anyway} anyway=${anyway} text=${t("lab.dead.anyway")} />`
    }
    <div class="table-scroll" tabindex="0" role="group" aria-label=${t("lab.dead.title", { broker, group })}>
      <table class="dead-table">
        <caption class="sr-only">${t("lab.dead.title", { broker, group })}</caption>
        <thead>
          <tr>
            ${COLUMNS.map(
              (column) =>
                html`<th scope="col" key=${column} class=${NUMBERS.includes(column) ? "number" : ""}>
                  ${t(column)}
                </th>`,
            )}
            ${canResend && html`<th scope="col">${t("lab.dead.col_resend")}</th>`}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (
              message,
            ) => html`<tr key=${message.offset} data-dead-letter=${message.queue_offset} ...${pointing(message.key)}>
              <td class="number">${message.queue_id > 0 ? `Q${message.queue_id} ` : ""}${message.queue_offset}</td>
              <th scope="row">
                <button
                  type="button"
                  class="link-button mono"
                  title=${t("lab.dead.id", { id: message.id })}
                  onClick=${() => (openRecord.value = { broker, record: { ...message, topic: `%DLQ%${group}` } })}
                >
                  ${message.key}
                </button>
              </th>
              <td>${message.topic}</td>
              <td class="number">${message.retry}</td>
              <td>${message.why === null ? "–" : resultWord(message.why)}</td>
              <td class="number">${virtualTime(message.dead_us)} s</td>
              <td>
                ${
                  message.resent
                    ? html`<span class="dead-resent">
                      ↻ ${t("lab.dead.resent", {
                        topic: message.resent.topic,
                        id: message.resent.queue_id,
                        offset: message.resent.queue_offset,
                      })}
                    </span>`
                    : t("lab.dead.waits")
                }
              </td>
              ${
                canResend &&
                html`<td>
                  <button
                    type="button"
                    class="button row-button"
                    data-resend=${message.queue_offset}
                    disabled=${Boolean(message.resent) && !anyway.value}
                    onClick=${() => resend(message)}
                    aria-label=${t("lab.dead.resend_of", { key: message.key })}
                  >
                    ${t("lab.dead.resend")}
                  </button>
                </td>`
              }
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${older > 0 && html`<p class="quiet">${t("lab.dead.older", { n: older })}</p>`}
  `;
}
