// @ts-check
// One frame down to its bytes: what it is, its header's fields, its body, and every byte with the part it belongs to;
// one of Kafka as the tree of its fields.

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { bytes as sizeText } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { useFound } from "../../common/viewer/sight.js";
import { bytesOf, fieldOfByte } from "../inspector/hex_rows.js";
import { HexView } from "../inspector/hex_view.js";
import { printable, span, virtualTime } from "../../common/world/format.js";
import { command, isRecording, run } from "../../common/world/session.js";
import { openFrame, view } from "../../common/world/view.js";
import { Button } from "../controls/button.js";
import { Dialog } from "../controls/dialog.js";
import { frameName, frameShape } from "../../common/world/frame_words.js";
import { frameStore } from "../journal/window_store.js";
import { FrameTree, leavesOf } from "./frame_tree.js";

export function FrameDialog() {
  const id = openFrame.value;
  const { found, problem } = useFound(id, run.frame, t("lab.frame.gone"));
  const frame = found ?? (id === null ? null : (view.peek().frames.find((one) => one.id === id) ?? frameStore.get(id)));
  const title =
    frame &&
    html`
      <span class=${`frame-${frameShape(frame)}`}><span class="frame-sign" aria-hidden="true"></span></span>${" "}
      <span class="ellipsis">${frameName(frame)}</span>
      <span class="quiet">${frame.source} → ${frame.target}</span>
    `;
  return html`<${Dialog}
    isOpen=${id !== null}
    onClose=${() => (openFrame.value = null)}
    id="frame-dialog"
    kind="inspector frame-dialog"
    title=${title ?? t("field.frame")}
  >
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${found && html`<${Details} key=${id} frame=${found} />`}
  </${Dialog}>`;
}

function Details({ frame }) {
  const data = useMemo(() => bytesOf(frame.hex ?? ""), [frame]);
  const { tree } = frame;
  const parts = useMemo(() => (tree ? leavesOf(tree) : partsOf(frame, data.length)), [frame]);
  const owners = useMemo(() => fieldOfByte(parts, data.length), [parts]);
  const chosen = useSignal(/** @type {number | null} */ (null));
  const cursor = useSignal(null);
  const fact = (key, value) =>
    value !== undefined &&
    value !== null &&
    value !== "" &&
    html`<div class="fact"><dt>${t(`lab.frame.${key}`)}</dt><dd class="number">${value}</dd></div>`;
  const { sent_us: sent, arrives_us: arrives } = frame;
  const flight = frame.dropped
    ? t("lab.frame.dropped")
    : `${virtualTime(sent)} → ${virtualTime(arrives)} s (${span(arrives - sent)})`;
  const fields = Object.entries(frame.fields ?? {});
  const statement = frame.name === "SQL_EXECUTE" && statementOf(frame.body_text);
  return html`
    <dl class="facts">
      ${fact("flight", flight)}
      ${fact("code", frame.code)}
      ${fact("opaque", frame.opaque)} ${fact("correlation_id", frame.correlation_id)}
      ${fact("flag", frame.flag === undefined ? undefined : flagText(frame.flag))}
      ${fact("serialize", frame.serialize_type)}
      ${fact("remark", frame.remark)}
      ${fact("size", sizeText(frame.size_bytes))}
      ${frame.copies > 1 && fact("copies", frame.copies)}
    </dl>
    ${frame.problem && html`<p class="problem">${frame.problem}</p>`}
    <div class="button-row frame-actions"><${Actions} frame=${frame} /></div>
    <div class="inspector-columns">
      <section class="inspector-fields" aria-labelledby="frame-fields-title">
        <h3 id="frame-fields-title">
          ${t(tree ? "word.fields" : "lab.frame.fields")}${" "}
          <span class="quiet number">${tree ? parts.length : fields.length}</span>
        </h3>
        <div class="field-list" tabindex="0" role="group" aria-labelledby="frame-fields-title">
          ${tree && html`<${FrameTree} fields=${tree} leaves=${parts} chosen=${chosen} cursor=${cursor} />`}
          ${!tree && fields.length === 0 && html`<p class="panel-empty quiet">${t("lab.frame.no_fields")}</p>`}
          <dl class="frame-fields">
            ${fields.map(
              ([name, value]) =>
                html`<div key=${name} class="frame-field">
                  <dt class="mono">${name}</dt><dd class="mono">${value}</dd>
                </div>`,
            )}
          </dl>
        </div>
        ${
          frame.body_bytes > 0 &&
          html`
            ${statement && html`<h3>${t("lab.frame.statement")}</h3><p class="mono frame-statement">${statement}</p>`}
            <h3>${t("word.body")} <span class="quiet">${sizeText(frame.body_bytes)}</span></h3>
            <pre class="message-body" tabindex="0" aria-label=${t("word.body")}>${printable(frame.body_text)}</pre>
          `
        }
      </section>
      <section class="inspector-hex" aria-labelledby="frame-bytes-title">
        <h3 id="frame-bytes-title">${t("inspector.bytes")} <span class="quiet">${sizeText(data.length)}</span></h3>
        ${
          data.length > 0
            ? html`<${HexView} bytes=${data} owners=${owners} fields=${parts} chosen=${chosen} cursor=${cursor} />`
            : html`<p class="quiet">${t("lab.frame.no_bytes")}</p>`
        }
        <ul class="part-legend">
          ${(tree ? [] : parts).map(
            (part, index) =>
              html`<li
                key=${part.name}
                class=${`tint-${index % 6} ${chosen.value === index ? "is-chosen" : ""}`}
                onPointerEnter=${() => (chosen.value = index)}
              >
                <span class="part-swatch"></span>
                ${t(`lab.frame.part_${part.name}`)} <span class="quiet number">${part.start}+${part.length}</span>
              </li>`,
          )}
        </ul>
        <p class="field-explanation" id="hex-announce" aria-live="polite">
          ${chosen.value === null ? t("lab.frame.point") : explained(parts[chosen.value])}
        </p>
      </section>
    </div>
  `;
}

const explained = ({ name, field, start, length }) =>
  field ? t("lab.frame.field", { name, value: field.value, start, length }) : t(`lab.frame.part_${name}_text`);

/** The SQL in a body, with its parameters in their places; null where it is cut off. */
function statementOf(body) {
  try {
    const { sql, parameters } = JSON.parse(body);
    return sql.replace(/:(\w+)/g, (all, name) => (name in parameters ? literal(parameters[name]) : all));
  } catch {
    return null;
  }
}

const literal = (value) => (typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : `${value}`);

/** The same kind of frame on the same way, the next time it is sent. */
function Actions({ frame }) {
  if (isRecording() || !["request", "response"].includes(frame.kind)) return null;
  const what =
    frame.kind === "request" ? frame.name : frame.reply_to_name ? `reply to ${frame.reply_to_name}` : "reply";
  const button = (kind, key, values = {}) =>
    html`<${Button} onClick=${() => command(kind, `${frame.source}->${frame.target}`, { frame: what, ...values })}>
      ${t(`lab.frame.${key}`)}
    </${Button}>`;
  return html`
    <span class="quiet">${t("lab.frame.next_like_this")}</span>
    ${button("drop-next", "drop")}
    ${button("delay-next", "delay", { ms: 500 })}
    ${button("duplicate-next", "duplicate")}
  `;
}

/** The parts of RocketMQ's frame: total length, header length with serialisation, header, body. */
function partsOf(frame, length) {
  if (length < 8 || frame.header_start === undefined) return [];
  const { header_start: header, body_start: body } = frame;
  const parts = [
    ["length", 0, 4],
    ["header_length", 4, 4],
    ["header", header, body - header],
    ["body", body, length - body],
  ];
  return parts.filter(([, , size]) => size > 0).map(([name, start, size]) => ({ name, start, length: size }));
}

function flagText(flag) {
  const names = [t(flag & 1 ? "lab.sequence.response" : "lab.sequence.request")];
  if (flag & 2) names.push(t("lab.sequence.oneway"));
  return `${flag} (${names.join(", ")})`;
}
