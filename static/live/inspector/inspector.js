// @ts-check
// The record inspector: one record of the commit log down to its bytes. Fields and bytes point at each other.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { count } from "../../common/format.js";
import { sendRequest } from "../../common/transport.js";
import { t } from "../../common/i18n.js";
import { inspectedOffset } from "../../common/cluster/selection.js";
import { Empty, TopicMark } from "../../parts/lane/marks.js";
import { RecordDetails } from "../../parts/inspector/record_details.js";
import { Trail } from "./trail.js";

export function Inspector() {
  const dialog = useRef(/** @type {any} */ (null));
  const offset = inspectedOffset.value;
  const answer = useRecord(offset);
  useEffect(() => {
    if (offset !== null && !dialog.current.open) dialog.current.showModal();
    if (offset === null && dialog.current.open) dialog.current.close();
  }, [offset]);
  const close = () => (inspectedOffset.value = null);
  return html`<dialog
    class="inspector"
    id="inspector"
    ref=${dialog}
    aria-labelledby="inspector-title"
    onClose=${close}
    onClick=${(event) => event.target === dialog.current && close()}
  >
    ${
      offset !== null &&
      html`<div class="inspector-body">
        <header class="inspector-head">
          <${Title} offset=${offset} record=${answer.view?.record} />
          <button type="button" class="button button-close" onClick=${close}>
            ${t("word.close")} <kbd>Esc</kbd>
          </button>
        </header>
        ${answer.problem && html`<div class="problem" role="alert">${answer.problem}</div>`}
        ${!answer.view && !answer.problem && html`<${Empty} title=${t("inspector.loading")} />`}
        ${
          answer.view &&
          html`<${Trail} record=${answer.view.record} /><${RecordDetails} key=${offset} view=${answer.view} />`
        }
      </div>`
    }
  </dialog>`;
}

/** Fetches the record at `offset`; an answer that comes after another record was opened is dropped. */
function useRecord(offset) {
  const answer = useSignal(/** @type {any} */ ({}));
  useEffect(() => {
    answer.value = {};
    if (offset === null) return undefined;
    const abort = new AbortController();
    sendRequest(`/api/messages/at/${offset}`, { signal: abort.signal })
      .then(async (response) => {
        const view = await response.json();
        answer.value = response.ok
          ? { view }
          : { problem: response.status === 404 ? t("inspector.nothing_there", { offset }) : view.error };
      })
      .catch((error) => {
        if (error.name !== "AbortError")
          answer.value = { problem: t("live.search.unreachable", { why: error.message }) };
      });
    return () => abort.abort();
  }, [offset]);
  return answer.value;
}

function Title({ offset, record }) {
  if (!record) return html`<h2 id="inspector-title">${t("inspector.title", { offset })}</h2>`;
  return html`<h2 id="inspector-title">
    <${TopicMark} topic=${record.topic} /> <span class="ellipsis">${record.topic}</span>
    <span class="quiet">Q${record.queue_id} · ${t("inspector.queue_offset")}</span>${" "}
    <span class="number">
      ${count(record.queue_offset)}
    </span>
  </h2>`;
}
