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
import { Button } from "../../../parts/controls/button.js";

/** Widths in rem, as the text inside grows with the theme. */
const BLOCK_MIN = 2.6;
const BLOCK_MAX = 11;
const BLOCK_GAP_PX = 3;

const DIGIT = 0.47;

/** Pixels of a record: they grow with the square root of its size, so that 100 B and 10 kB both show. */
function blockWidth(record) {
  const textWidth = DIGIT * String(record.queue_offset).length + 0.4;
  return Math.round(remPx.value * Math.min(BLOCK_MAX, Math.max(BLOCK_MIN, textWidth, Math.sqrt(record.size) * 0.19)));
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
  const { value: tail, isHeld, handlers } = useHold(log.value.tail);
  const flushed = log.value.flushed_offset;
  const shown = fittingRecords(tail, width.value);
  return html`<section class="commit-log" aria-labelledby="commit-log-title">
    <header class="commit-log-head">
      <h2 class="panel-title" id="commit-log-title">${t("commit_log.title")}</h2>
      ${isHeld && html`<span class="badge">${t("live.held")}</span>`}
      <${LogFigures} log=${log.value} />
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
          isFlushed=${record.offset + record.size <= flushed}
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

function LogFigures({ log }) {
  const unflushed = Math.max(0, log.max_offset - log.flushed_offset);
  const undispatched = Math.max(0, log.max_offset - log.dispatched_offset);
  const figure = (key, value, hint, kind = "") =>
    html`<span class=${`figure ${kind}`} title=${t(hint)}>
      <span class="quiet">${t(key)}</span> <span class="number">${value}</span>
    </span>`;
  return html`<div class="commit-log-figures">
    ${figure("commit_log.end", count(log.max_offset), "commit_log.end_hint")}
    ${figure("commit_log.unflushed", bytes(unflushed), "commit_log.unflushed_hint", "figure-hatched")}
    ${figure("commit_log.undispatched", bytes(undispatched), "commit_log.undispatched_hint", "figure-steady")}
    <${CheckFigure} check=${log.damage?.check} />
    ${figure("word.files", count(log.file_count ?? log.files?.length ?? 0), "live.commit_log.files_hint")}
  </div>`;
}

function Block({ record, right, isFlushed, isLast }) {
  const mark = topicMark(record.topic);
  const width = blockWidth(record);
  const name = t("live.commit_log.record", {
    topic: record.topic,
    id: record.queue_id,
    offset: record.queue_offset,
    size: bytes(record.size),
  });
  const lines = [name, dateTime(record.store_ms, true), record.body_preview ?? ""];
  if (!isFlushed) lines.push(t("commit_log.not_flushed"));
  const hint = lines.join("\n");
  const point = () => (highlighted.value = { topic: record.topic, queueId: String(record.queue_id) });
  return html`<li class="strip-item" style=${{ transform: `translateX(${-right}px)` }}>
    <${Button}
      class=${`block tone-${mark.tone} ${isFlushed ? "" : "is-unflushed"}`} style=${{ width: `${width}px` }}
      title=${hint} label=${name} tabindex=${isLast ? 0 : -1} data-offset=${record.offset}
      onClick=${() => (inspectedOffset.value = record.offset)} onPointerEnter=${point} onFocus=${point}
      onPointerLeave=${() => (highlighted.value = null)} onBlur=${() => (highlighted.value = null)}
    >
      <span class="block-code">${mark.code}·${record.queue_id}</span>
      <span class="block-offset number">${record.queue_offset}</span>
    </${Button}>
  </li>`;
}
