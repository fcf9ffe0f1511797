// @ts-check
// A consume queue from the inside: entries of twenty bytes, each pointing at a record of the commit log.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { inspectedQueue } from "../../common/cluster/selection.js";
import { state } from "../../common/cluster/view.js";
import { Button } from "../../parts/controls/button.js";
import { Dialog } from "../../parts/controls/dialog.js";
import { Empty, TopicMark } from "../../parts/lane/marks.js";
import { useAnswer } from "../../common/server/answer.js";
import { ScrollingTable } from "../../parts/panel/table.js";
import { OpenRecord } from "./open_record.js";

const PAGE = 20;
const COLUMNS = [
  ["word.offset", "number"],
  ["live.records.offset", "number"],
  ["live.records.size", "number"],
  ["queue.tags_code", "number"],
  "queue.bytes",
];
/** Bytes of an entry's fields: commit log offset, size, tags code. */
const PARTS = [
  [0, 8],
  [8, 12],
  [12, 20],
];

export function QueueEntries() {
  const queue = inspectedQueue.value;
  return html`<${Dialog}
    isOpen=${queue !== null}
    onClose=${() => (inspectedQueue.value = null)}
    id="queue-entries"
    kind="queue-entries"
    title=${
      queue &&
      html`<${TopicMark} topic=${queue.topic} /> <span class="ellipsis">${queue.topic}</span>
        <span class="quiet">Q${queue.queueId}</span>`
    }
  >
    <p>${t("queue.what")}</p>
    ${queue && html`<${Entries} key=${`${queue.topic}@${queue.queueId}`} ...${queue} />`}
  </${Dialog}>`;
}

/** One page of entries; it opens at the newest. */
function Entries({ topic, queueId }) {
  const { min, max } = state.peek().topics[topic]?.queues[queueId] ?? { min: 0, max: 0 };
  const start = useSignal(Math.max(min, max - PAGE));
  const queue = `/api/topics/${encodeURIComponent(topic)}/queues/${queueId}`;
  const { answer, why } = useAnswer(`${queue}/entries?start=${start.value}&count=${PAGE}`, { keepsLast: true });
  const now = state.value.topics[topic]?.queues[queueId] ?? { min, max };
  const go = (to) => (start.value = Math.max(now.min, Math.min(to, Math.max(now.min, now.max - PAGE))));
  const turn = (key, to, isThere) =>
    html`<${Button} disabled=${!isThere} onClick=${() => go(to)}>${t(`queue.${key}`)}</${Button}>`;
  const { entries = [], start: first = 0 } = answer ?? {};
  return html`
    <div class="button-row queue-turn">
      ${turn("oldest", now.min, start.value > now.min)}${turn("older", start.value - PAGE, start.value > now.min)}
      ${turn("newer", start.value + PAGE, start.value + PAGE < now.max)}
      ${turn("newest", now.max, start.value + PAGE < now.max)}
      <span class="quiet">${t("queue.range", { min: now.min, max: now.max })}</span>
    </div>
    ${why && html`<p class="problem" role="alert">${why}</p>`}
    ${answer && entries.length === 0 && html`<${Empty} title=${t("queue.none")} />`}
    ${
      entries.length > 0 &&
      html`<${ScrollingTable} of="queue-entries" kind="entries" columns=${COLUMNS}>
        ${entries.map(
          (entry, index) => html`<${EntryRow} key=${first + index} offset=${first + index} entry=${entry} />`,
        )}
      <//>`
    }
  `;
}

function EntryRow({ offset, entry }) {
  const part = (/** @type {number[]} */ [from, to], /** @type {number} */ index) =>
    html`<span class=${`entry-bytes tint-${index}`} title=${entry.fields?.[index]?.name}>
      ${spaced(entry.hex.slice(2 * from, 2 * to))}
    </span>`;
  return html`<tr>
    <td class="number">${count(offset)}</td>
    <td class="number"><${OpenRecord} offset=${entry.offset} kind="number">${count(entry.offset)}<//></td>
    <td class="number">${count(entry.size_bytes)}</td><td class="number">${entry.tags_code}</td>
    <td class="mono entry-hex">${PARTS.map(part)}</td>
  </tr>`;
}

const spaced = (hex) => hex.replace(/(..)(?=.)/g, "$1 ");
