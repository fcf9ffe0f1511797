// @ts-check
// What happened to the message of a record, as far as the broker knows: its copies, and how far each group has come.

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { brokerClock } from "../../common/cluster/clock.js";
import { inspectedOffset } from "../../common/cluster/selection.js";
import { t } from "../../common/i18n.js";
import { MessageLife } from "../../parts/messages/message_life.js";
import { useAnswer } from "../../common/server/answer.js";

const offsetOf = (/** @type {any} */ { offset }) => offset;

/** The record that is open is a mark's copy; another copy can be opened in its place.
    @type {import("../../parts/messages/message_life.js").LifeSource} */
const source = {
  open: (mark) => (offsetOf(mark) === undefined ? null : () => (inspectedOffset.value = offsetOf(mark))),
  isOpen: (mark) => offsetOf(mark) === inspectedOffset.value,
  point: () => {},
  tools: () => null,
};

/** `record`: the summary of any copy of the message. */
export function Trail({ record }) {
  const name = record.unique_id ?? record.offset_message_id;
  const { answer, why } = useAnswer(`/api/messages/trail?${new URLSearchParams({ name })}`);
  const seenUs = useMemo(() => brokerClock.now(), [answer]);
  /** @type {Picture.StoredMessageLife | undefined} */
  const message = answer?.messages[0];
  if (answer && !message) return null;
  return html`<section class="trail" aria-labelledby="trail-title">
    <h3 id="trail-title">${t("live.trail.title")}</h3>
    ${why && html`<p class="problem" role="alert">${why}</p>`}
    ${!answer && !why && html`<p class="quiet">${t("inspector.loading")}</p>`}
    ${message && html`<${MessageLife} ...${{ message, clock: brokerClock, source, seenUs }} />`}
  </section>`;
}
