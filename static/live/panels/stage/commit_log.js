// @ts-check
// The tail of the commit log as a strip of records: every message of every topic, in the order of its bytes.

import { html } from "htm/preact";
import { useComputed, useSignal } from "@preact/signals";
import { topicMark } from "../../../common/palette.js";
import { bytes, count, dateTime } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { useHold } from "../../hold.js";
import { remPx } from "../../../common/viewer/rem_px.js";
import { useWidth } from "../../../common/viewer/sight.js";
import { highlighted, inspectedOffset } from "../../../common/cluster/selection.js";
import { loaded, state } from "../../../common/cluster/view.js";
import { walkAlong } from "../../walk.js";
import { LogFigures, RecordBlock } from "../../../parts/log/strip.js";

/** Widths in rem, as the text inside grows with the theme. */
const BLOCK_MIN = 2.6;
const BLOCK_MAX = 11;
const BLOCK_GAP_PX = 3;

const DIGIT = 0.47;

/** Pixels of a record: they grow with the square root of its size, so that 100 B and 10 kB both show. */
function blockWidth(record) {
  const textWidth = DIGIT * String(record.queue_offset).length + 0.4;
  return Math.round(
    remPx.value * Math.min(BLOCK_MAX, Math.max(BLOCK_MIN, textWidth, Math.sqrt(record.size_bytes) * 0.19)),
  );
}

/** The newest records that fit into `width` pixels, oldest first, each with the pixels to its right. */
function fittingRecords(records, width) {
  const fitting = [];
  let taken = 0;
  for (let index = records.length - 1; index >= 0; index -= 1) {
    const end = taken + blockWidth(records[index]) + BLOCK_GAP_PX;
    if (end > width) break;
    fitting.unshift({ record: records[index], right: taken });
    taken = end;
  }
  return fitting;
}

export function CommitLogStrip() {
  const width = useSignal(600);
  const strip = useWidth((next) => (width.value = next));
  const log = useComputed(() => state.value.commit_log);
  const { value: records, isHeld, handlers } = useHold(log.value.records);
  const shown = fittingRecords(records, width.value);
  return html`<section class="commit-log" aria-labelledby="commit-log-title">
    <header class="commit-log-head">
      <h2 class="panel-title" id="commit-log-title">${t("commit_log.title")}</h2>
      ${isHeld && html`<span class="badge">${t("live.held")}</span>`}
      <${Figures} log=${log.value} />
    </header>
    <${DamageNotice} damage=${log.value.damage} />
    <ol
      class="strip"
      ref=${strip}
      role="list"
      ...${handlers}
      onKeyDown=${walkAlong(".block")}
      aria-label=${t("commit_log.strip", { n: shown.length })}
    >
      ${shown.map(
        ({ record, right }, index) => html`<${Block}
          key=${record.offset}
          record=${record}
          right=${right}
          isFlushed=${record.offset + record.size_bytes <= log.value.flushed}
          isLast=${index === shown.length - 1}
        />`,
      )}
      ${
        shown.length === 0 && html`<li class="strip-empty">${t(loaded.value ? "commit_log.none" : "live.waiting")}</li>`
      }
      <li class="strip-end" aria-hidden="true" title=${t("commit_log.end_hint")}></li>
    </ol>
  </section>`;
}

/** Messages that are not sent because they are damaged; nothing while there are none. */
function DamageNotice({ damage }) {
  if (!damage?.count) return null;
  const where = (place) =>
    place.topic
      ? t("live.damage.place", {
          topic: place.topic,
          id: place.queue_id,
          offset: place.queue_offset,
          position: count(place.offset),
        })
      : t("live.damage.position", { position: count(place.offset) });
  return html`<div class="problem" role="alert" id="damage">
    <strong>${t(damage.is_full ? "live.damage.many" : "live.damage.count", { n: count(damage.count) })}</strong>${" "}
    ${t("live.damage.rest")}
    <details>
      <summary>${t("live.damage.places")}</summary>
      <ul>
        ${damage.places.map(
          (place) => html`<li key=${place.offset}>${where(place)}: ${t(`live.damage.kind.${place.kind}`)}</li>`,
        )}
      </ul>
      <p>${t("live.damage.next")} <code>glassmq check --data ${state.value.cluster.data_folder}</code></p>
    </details>
  </div>`;
}

/** How far the walk through old files is, while there is one. */
function CheckFigure({ check }) {
  if (!check?.is_walking) return null;
  const share = Math.floor((100 * check.checked_bytes) / Math.max(1, check.total_bytes));
  return html`<span class="figure" title=${t("live.damage.check_hint")}>
    <span class="quiet">${t("live.damage.check")}</span> <span class="number">${share} %</span>
  </span>`;
}

/** Classes that keep the width of a figure. */
const STEADY = { unflushed: "figure-hatched", undispatched: "figure-steady" };

const Figures = ({ log }) =>
  html`<div class="commit-log-figures">
    <${LogFigures} log=${log} kinds=${STEADY} hasQueues=${true} />
    <${CheckFigure} check=${log.damage?.check} />
    <span class="figure" title=${t("live.commit_log.files_hint")}>
      <span class="quiet">${t("word.files")}</span> <span class="number">${count(log.file_count)}</span>
    </span>
  </div>`;

function Block({ record, right, isFlushed, isLast }) {
  const mark = topicMark(record.topic);
  const width = blockWidth(record);
  const name = t("live.commit_log.record", {
    topic: record.topic,
    id: record.queue_id,
    offset: record.queue_offset,
    size: bytes(record.size_bytes),
  });
  const lines = [name, dateTime(record.stored_us, true), record.body_preview];
  const point = () => (highlighted.value = { topic: record.topic, queueId: String(record.queue_id) });
  return html`<li class="strip-item" style=${{ transform: `translateX(${-right}px)` }}>
    <${RecordBlock}
      ...${{ record, isFlushed, lines }} style=${{ width: `${width}px` }}
      code=${html`${mark.code}·${record.queue_id}`} offset=${html`<span class="number">${record.queue_offset}</span>`}
      tabindex=${isLast ? 0 : -1} data-offset=${record.offset}
      onClick=${() => (inspectedOffset.value = record.offset)} onPointerEnter=${point} onFocus=${point}
      onPointerLeave=${() => (highlighted.value = null)} onBlur=${() => (highlighted.value = null)}
    />
  </li>`;
}
