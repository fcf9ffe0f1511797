// @ts-check
// The newest records of the commit log as a table, and the table that search results share with it.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { bytes, count, dateTime } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { useHold } from "../../hold.js";
import { inspectedOffset } from "../../../common/cluster/selection.js";
import { loaded, state } from "../../../common/cluster/view.js";
import { Heads } from "../../../parts/panel/heads.js";
import { Empty, TopicMark } from "../../../parts/lane/marks.js";
import { Panel } from "../../../parts/panel/panel.js";
import { OpenRecord } from "../../inspector/open_record.js";
import { SendCommand } from "../nothing_yet.js";

export function Records() {
  const tail = useComputed(() => state.value.commit_log.records);
  const { value: shown, isHeld, handlers } = useHold(tail.value);
  const held = isHeld && shown.length > 0 && html`<span class="badge">${t("live.held")}</span>`;
  return html`<${Panel} id="records" title=${t("live.records.title")} hint=${t("live.records.hint")} head=${held}>
    <div class="table-scroll records-scroll" tabindex="0" role="group" aria-labelledby="records-title" ...${handlers}>
      <${RecordTable} records=${shown.toReversed()} caption=${t("live.records.title")} />
      ${
        loaded.value &&
        shown.length === 0 &&
        html`<${Empty} title=${t("live.records.none")}>
          <p>${t("live.records.none_next")}</p><${SendCommand} />
        </${Empty}>`
      }
    </div>
  </${Panel}>`;
}

/** Column -> the key of its head. */
const COLUMNS = {
  offset: "live.records.offset",
  stored: "live.records.stored",
  topic: "field.topic",
  queue_offset: "live.records.queue_offset",
  tags: "word.tag",
  keys: "live.records.keys",
  size: "live.records.size",
  body: "word.body",
};

/** Summaries of records, one per row; the first cell opens the inspector. Those of one topic name their sender. */
export function RecordTable({ records, caption, isOfOneTopic = false }) {
  if (records.length === 0) return null;
  const columns = isOfOneTopic ? { ...COLUMNS, topic: "inspector.born_host" } : COLUMNS;
  return html`<table class=${isOfOneTopic ? "records is-of-topic" : "records"}>
    <caption class="sr-only">${caption}</caption>
    <${Heads} columns=${Object.entries(columns).map(([column, key]) => [key, `column-${column}`])} />
    <tbody>
      ${records.map(
        (record) => html`<${RecordRow} key=${record.offset} record=${record} isOfOneTopic=${isOfOneTopic} />`,
      )}
    </tbody>
  </table>`;
}

function RecordRow({ record, isOfOneTopic }) {
  const open = () => (inspectedOffset.value = record.offset);
  const keys = Array.isArray(record.keys) ? record.keys.join(" ") : record.keys;
  return html`<tr class="record-row" onClick=${open}>
    <td class="column-offset">
      <${OpenRecord} offset=${record.offset} kind="number">${count(record.offset)}<//>
    </td>
    <td class="number column-stored">${dateTime(record.stored_us, true)}</td>
    <td class="column-topic">
      ${
        isOfOneTopic
          ? html`<span class="mono">${record.born_host}</span>`
          : html`<span class="topic-cell">
            <${TopicMark} topic=${record.topic} /><span class="ellipsis" title=${record.topic}>${record.topic}</span>
          </span>`
      }
    </td>
    <td class="number column-queue_offset">Q${record.queue_id} · ${count(record.queue_offset)}</td>
    <td class="column-tags">${record.tags ?? ""}</td>
    <td class="column-keys" title=${keys}>${keys ?? ""}</td>
    <td class="number column-size">${bytes(record.size_bytes)}</td>
    <td class="column-body">
      ${
        record.body_preview ||
        html`<span class="quiet">${t("live.records.body_bytes", { n: record.body_bytes })}</span>`
      }
    </td>
  </tr>`;
}
