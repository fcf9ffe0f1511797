// @ts-check
// What happened to the message of a record, as far as the broker knows: its copies, and how far each group has come.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { brokerClock } from "../../common/cluster/clock.js";
import { inspectedOffset } from "../../common/cluster/selection.js";
import { t } from "../../common/i18n.js";
import { sendRequest } from "../../common/transport.js";
import { MessageLife } from "../../parts/messages/message_life.js";

const offsetOf = (/** @type {any} */ { offset }) => offset;

/** The record that is open is a mark's copy; another copy can be opened in its place.
    @type {import("../../parts/messages/message_life.js").LifeSource} */
const source = {
  open: (mark) => (offsetOf(mark) === undefined ? null : () => (inspectedOffset.value = offsetOf(mark))),
  isOpen: (mark) => offsetOf(mark) === inspectedOffset.value,
  point: () => {},
  tools: () => null,
};

/** @typedef {{ message?: Picture.StoredMessageLife | null, seenUs?: number, problem?: string }} Answer */

/** `record`: the summary of any copy of the message. */
export function Trail({ record }) {
  const answer = useSignal(/** @type {Answer} */ ({}));
  const name = record.unique_id ?? record.offset_message_id;
  useEffect(() => {
    answer.value = {};
    const abort = new AbortController();
    sendRequest(`/api/messages/trail?${new URLSearchParams({ name })}`, { signal: abort.signal })
      .then(async (response) => {
        const found = await response.json();
        answer.value = response.ok
          ? { message: found.messages[0] ?? null, seenUs: brokerClock.now() }
          : { problem: found.error };
      })
      .catch((error) => {
        if (error.name !== "AbortError")
          answer.value = { problem: t("live.search.unreachable", { why: error.message }) };
      });
    return () => abort.abort();
  }, [name]);
  const { message, seenUs, problem } = answer.value;
  if (message === null) return null;
  return html`<section class="trail" aria-labelledby="trail-title">
    <h3 id="trail-title">${t("live.trail.title")}</h3>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${message === undefined && !problem && html`<p class="quiet">${t("inspector.loading")}</p>`}
    ${message && html`<${MessageLife} ...${{ message, clock: brokerClock, source, seenUs }} />`}
  </section>`;
}
