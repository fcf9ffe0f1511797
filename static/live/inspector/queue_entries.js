// @ts-check
// A consume queue from the inside: entries of twenty bytes, each pointing at a record of the commit log.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { count } from "../../common/format.js";
import { sendRequest } from "../../common/transport.js";
import { t } from "../../common/i18n.js";
import { inspectedOffset, inspectedQueue } from "../../common/cluster/selection.js";
import { state } from "../../common/cluster/view.js";
import { Empty, TopicMark } from "../../parts/lane/marks.js";

const PAGE = 20;
/** Bytes of an entry's fields: commit log offset, size, tags code. */
const PARTS = [
  [0, 8],
  [8, 12],
  [12, 20],
];

export function QueueEntries() {
  const dialog = useRef(/** @type {any} */ (null));
  const queue = inspectedQueue.value;
  useEffect(() => {
    if (queue && !dialog.current.open) dialog.current.showModal();
    if (!queue && dialog.current.open) dialog.current.close();
  }, [queue]);
  const close = () => (inspectedQueue.value = null);
  return html`<dialog
    class="queue-entries"
    id="queue-entries"
    ref=${dialog}
    aria-labelledby="queue-title"
    onClose=${close}
    onClick=${(event) => event.target === dialog.current && close()}
  >
    ${
      queue &&
      html`<div class="inspector-body">
        <header class="inspector-head">
          <h2 id="queue-title">
            <${TopicMark} topic=${queue.topic} />${" "}
            <span class="ellipsis">${queue.topic}</span>${" "}
            <span class="quiet">
              Q${queue.queueId}
            </span>
          </h2>
          <button type="button" class="button button-close" onClick=${close}>
            ${t("word.close")} <kbd>Esc</kbd>
          </button>
        </header>
        <p>${t("queue.what")}</p>
        <${Entries} key=${`${queue.topic}@${queue.queueId}`} ...${queue} />
      </div>`
    }
  </dialog>`;
}

/** One page of entries; it opens at the newest. */
function Entries({ topic, queueId }) {
  const { min, max } = state.peek().topics[topic]?.queues[queueId] ?? { min: 0, max: 0 };
  const start = useSignal(Math.max(min, max - PAGE));
  const answer = useSignal(/** @type {any} */ ({}));
  useEffect(() => {
    const abort = new AbortController();
    const queue = `/api/topics/${encodeURIComponent(topic)}/queues/${queueId}`;
    const address = `${queue}/entries?start=${start.value}&count=${PAGE}`;
    sendRequest(address, { signal: abort.signal })
      .then(async (response) => {
        const found = await response.json();
        answer.value = response.ok ? { entries: found.entries, first: found.start } : { problem: found.error };
      })
      .catch((error) => {
        if (error.name !== "AbortError")
          answer.value = { problem: t("live.search.unreachable", { why: error.message }) };
      });
    return () => abort.abort();
  }, [start.value]);
  const now = state.value.topics[topic]?.queues[queueId] ?? { min, max };
  const go = (to) => (start.value = Math.max(now.min, Math.min(to, Math.max(now.min, now.max - PAGE))));
  const turn = (key, to, isThere) =>
    html`<button type="button" class="button" disabled=${!isThere} onClick=${() => go(to)}>
      ${t(`queue.${key}`)}
    </button>`;
  const { entries = [], first = 0, problem } = answer.value;
  return html`
    <div class="queue-turn">
      ${turn("oldest", now.min, start.value > now.min)}${turn("older", start.value - PAGE, start.value > now.min)}
      ${turn("newer", start.value + PAGE, start.value + PAGE < now.max)}
      ${turn("newest", now.max, start.value + PAGE < now.max)}
      <span class="quiet">${t("queue.range", { min: now.min, max: now.max })}</span>
    </div>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${answer.value.entries && entries.length === 0 && html`<${Empty} title=${t("queue.none")} />`}
    ${
      entries.length > 0 &&
      html`<div class="table-scroll" tabindex="0" role="group" aria-labelledby="queue-title">
        <table class="entries">
          <thead>
            <tr>
              <th scope="col" class="number">${t("word.offset")}</th>
              <th scope="col" class="number">${t("live.records.offset")}</th>
              <th scope="col" class="number">${t("live.records.size")}</th>
              <th scope="col" class="number">${t("queue.tags_code")}</th>
              <th scope="col">${t("queue.bytes")}</th>
            </tr>
          </thead>
          <tbody>
            ${entries.map(
              (entry, index) => html`<${EntryRow} key=${first + index} offset=${first + index} entry=${entry} />`,
            )}
          </tbody>
        </table>
      </div>`
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
    <td class="number">
      <button
        type="button"
        class="link-button number"
        onClick=${() => (inspectedOffset.value = entry.offset)}
        aria-label=${t("live.records.open", { offset: entry.offset })}
      >
        ${count(entry.offset)}
      </button>
    </td>
    <td class="number">${count(entry.size)}</td><td class="number">${entry.tags_code}</td>
    <td class="mono entry-hex">${PARTS.map(part)}</td>
  </tr>`;
}

const spaced = (hex) => hex.replace(/(..)(?=.)/g, "$1 ");
