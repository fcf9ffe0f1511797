// @ts-check
// One stored message down to its bytes: a record of a commit log, an entry of a consume queue, or a message in the tree
// of a consumer, which is shown as the record that it was pulled from.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { useFound } from "../../common/viewer/sight.js";
import { RecordDetails } from "../inspector/record_details.js";
import { TopicMark } from "../lane/marks.js";
import { run } from "../../common/world/session.js";
import { openRecord } from "../../common/world/view.js";
import { worldClock } from "../../common/world/world_clock.js";
import { Dialog } from "../controls/dialog.js";
import { WhyButton } from "./why.js";

export function RecordDialog() {
  const open = openRecord.value;
  const { found: view, problem } = useFound(open, detailsOf, t("lab.record.not_recorded"));
  const record = view?.record ?? open?.record;
  const title =
    record &&
    html`
      <${TopicMark} topic=${record.topic} />${" "}
      <span class="ellipsis">${record.topic}</span>${" "}
      <span class="quiet">
        Q${record.queue_id}
      </span>${" "}
      <span class="number">${count(record.queue_offset)}</span>
      <span class="quiet">
        ${open?.holder ? t("lab.record.held_by", { holder: open.holder, broker: open.broker }) : open?.broker}
      </span>
      ${record.key && html`<${WhyButton} of=${record.key} />`}
    `;
  return html`<${Dialog}
    isOpen=${open !== null}
    onClose=${() => (openRecord.value = null)}
    id="record-dialog"
    kind="inspector record-dialog"
    title=${title ?? ""}
  >
    ${
      problem &&
      html`
        <p class="problem" role="alert">${problem}</p>
        ${
          record?.body_preview !== undefined &&
          html`
            <h3>${t("word.body")}</h3>
            <pre class="message-body" tabindex="0" aria-label=${t("word.body")}>${record.body_preview}</pre>
          `
        }
      `
    }
    ${open && !view && !problem && html`<p class="loading">${t("inspector.loading")}</p>`}
    ${view && html`<${RecordDetails} key=${view.record.offset} view=${view} clock=${worldClock.at} />`}
  </${Dialog}>`;
}

/** A message of a tree has no place in the commit log: its queue's entry knows it. */
function detailsOf({ broker, record }) {
  return record.offset === undefined ? run.message(broker, record) : run.record(broker, record);
}
