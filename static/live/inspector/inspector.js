// @ts-check
// The record inspector: one record of the commit log down to its bytes. Fields and bytes point at each other.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { inspectedOffset } from "../../common/cluster/selection.js";
import { Empty, TopicMark } from "../../parts/lane/marks.js";
import { Dialog } from "../../parts/controls/dialog.js";
import { RecordDetails } from "../../parts/inspector/record_details.js";
import { Trail } from "./trail.js";
import { useAnswer } from "../../common/server/answer.js";

export function Inspector() {
  const offset = inspectedOffset.value;
  const { answer: view, why, status } = useAnswer(offset === null ? null : `/api/messages/at/${offset}`);
  const problem = status === 404 ? t("inspector.nothing_there", { offset }) : why;
  return html`<${Dialog}
    isOpen=${offset !== null}
    onClose=${() => (inspectedOffset.value = null)}
    id="inspector"
    kind="inspector"
    title=${titleOf(offset, view?.record)}
  >
    ${problem && html`<div class="problem" role="alert">${problem}</div>`}
    ${!view && !problem && html`<${Empty} title=${t("inspector.loading")} />`}
    ${view && html`<${Trail} record=${view.record} /><${RecordDetails} key=${offset} view=${view} />`}
  </${Dialog}>`;
}

function titleOf(offset, record) {
  if (!record) return t("inspector.title", { offset });
  return html`<${TopicMark} topic=${record.topic} /> <span class="ellipsis">${record.topic}</span>
    <span class="quiet">Q${record.queue_id} · ${t("inspector.queue_offset")}</span>${" "}
    <span class="number">${count(record.queue_offset)}</span>`;
}
