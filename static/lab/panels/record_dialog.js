// One record of a commit log, or one entry of a consume queue whose record has left the picture.

import { html } from "htm/preact";
import { bytes, count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { TopicMark } from "../../live/panels/marks.js";
import { openRecord } from "../view.js";
import { Dialog } from "./dialog.js";

export function RecordDialog() {
  const open = openRecord.value;
  const record = open?.record;
  const title = record && html`<${TopicMark} topic=${record.topic} /> <span class="ellipsis">${record.topic}</span> <span class="quiet">Q${record.queue_id}</span> <span class="number">${count(record.queue_offset)}</span>`;
  const fact = (key, value) => value !== undefined && value !== null && value !== "" && html`<div class="fact"><dt>${t(`lab.record.${key}`)}</dt><dd class="number">${value}</dd></div>`;
  return html`<${Dialog} isOpen=${open !== null} onClose=${() => (openRecord.value = null)} id="record-dialog" kind="small-dialog record-dialog" title=${title ?? ""}>
    ${record && html`<dl class="facts">${fact("broker", open.broker)}${fact("offset", count(record.offset))}${record.size && fact("size", bytes(record.size))}${fact("key", record.key)}${fact("tags", record.tags)}
      ${record.born_ms && fact("born", time(record.born_ms))}${record.store_ms && fact("stored", time(record.store_ms))}${record.reconsume_times > 0 && fact("reconsumed", record.reconsume_times)}</dl>
      ${record.body !== undefined ? html`<h3>${t("inspector.body")}</h3><pre class="message-body" tabindex="0" aria-label=${t("inspector.body")}>${record.body}</pre>` : html`<p class="quiet">${t("lab.record.older")}</p>`}`}</${Dialog}>`;
}

/** Worlds begin at a fixed date; the time of day is in UTC on every machine. */
const time = (ms) => new Date(ms).toISOString().slice(11, 23);
