// @ts-check
// Everything about one stored message: its fields, its bytes, its properties, its body. Fields and bytes point at each
// other. Used by the live page's inspector and by the lab.

import { html } from "htm/preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { bytes as sizeText, count, dateTime, withDots } from "../../common/format.js";
import { language, t } from "../../common/i18n.js";
import { bytesOf, fieldOfByte } from "./hex_rows.js";
import { HexView } from "./hex_view.js";

/** @typedef {{ fields: Picture.RecordField[], hex: string, hex_omitted_bytes: number }} FieldsView */

/** `view`: what app/observation/record_view.py says of a record. `clock(us)`: a moment as text.
    @param {{ view: Picture.RecordView, clock?: (us: number) => string }} props */
export function RecordDetails({ view, clock = (us) => dateTime(us, true) }) {
  return html`
    <${Facts} view=${view} clock=${clock} />
    <${FieldsAndBytes} view=${view} size=${view.record.size_bytes} />
    <div class="inspector-columns inspector-lower">
      <${Properties} properties=${view.properties} /><${Body} view=${view} />
    </div>
  `;
}

/** `view`: {fields, hex, hex_omitted_bytes}; `size`: of all its bytes; `base`: where they begin in their file.
    @param {{ view: FieldsView, size: number, base?: number }} props */
export function FieldsAndBytes({ view, size, base = 0 }) {
  const { fields } = view;
  const chosen = useSignal(/** @type {number | null} */ (null));
  const cursor = useSignal(/** @type {number | null} */ (null));
  const bytes = useMemo(() => bytesOf(view.hex), [view]);
  const owners = useMemo(() => fieldOfByte(fields, bytes.length), [view]);
  return html`<div class="inspector-columns">
    <section class="inspector-fields" aria-labelledby="fields-title">
      <h3 id="fields-title">${t("word.fields")}</h3>
      <${FieldList} fields=${fields} chosen=${chosen} />
    </section>
    <section class="inspector-hex" aria-labelledby="bytes-title">
      <h3 id="bytes-title">${t("inspector.bytes")} <span class="quiet">${sizeText(size)}</span></h3>
      <${HexView} bytes=${bytes} owners=${owners} fields=${fields} chosen=${chosen} cursor=${cursor} base=${base} />
      ${
        view.hex_omitted_bytes > 0 &&
        html`<p class="quiet">${t("inspector.omitted", { n: view.hex_omitted_bytes })}</p>`
      }
      <${Explanation} field=${chosen.value === null ? null : fields[chosen.value]} />
    </section>
  </div>`;
}

/** @param {{ view: Picture.RecordView, clock: (time_us: number) => string }} props */
function Facts({ view, clock }) {
  const { record } = view;
  /** @param {string} key @param {string} value */
  const fact = (key, value) => html`<div class="fact"><dt>${t(key)}</dt><dd class="number">${value}</dd></div>`;
  return html`<dl class="facts">
    ${fact("live.records.offset", count(record.offset))}
    ${fact("live.records.stored", clock(record.stored_us))}
    ${fact("inspector.born_host", record.born_host)}
    ${record.unique_id && fact("inspector.unique_id", record.unique_id)}
    ${record.reconsume_times > 0 && fact("word.retries", count(record.reconsume_times))}
    <div class="fact">
      <dt>${t("inspector.crc")}</dt>
      <dd>
        ${
          view.crc_matches === false
            ? html`<span class="problem-text">✕ ${t("inspector.crc_bad")}</span>`
            : html`<span class="good-text">✓ ${t("inspector.crc_good")}</span>`
        }
      </dd>
    </div>
  </dl>`;
}

/** The fields as a listbox: one tab stop, arrow keys choose.
    @param {{ fields: Picture.RecordField[], chosen: import("./hex_view.js").Chosen }} props */
function FieldList({ fields, chosen }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  /** @param {KeyboardEvent} event */
  const move = (event) => {
    const step = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 })[event.key];
    const at =
      event.key === "Home"
        ? 0
        : event.key === "End"
          ? fields.length - 1
          : (chosen.value ?? (step > 0 ? -1 : fields.length)) + step;
    if (Number.isNaN(at)) return;
    event.preventDefault();
    chosen.value = Math.min(Math.max(at, 0), fields.length - 1);
  };
  useEffect(
    () =>
      chosen.subscribe(
        (index) => index !== null && list.current?.children[index]?.scrollIntoView?.({ block: "nearest" }),
      ),
    [],
  );
  return html`<ul
    class="field-list"
    role="listbox"
    tabindex="0"
    ref=${list}
    aria-labelledby="fields-title"
    onKeyDown=${move}
    aria-activedescendant=${chosen.value === null ? undefined : `field-${chosen.value}`}
  >
    ${fields.map(
      (field, index) => html`<li
        key=${index}
        role="option"
        id=${`field-${index}`}
        aria-selected=${chosen.value === index}
        class=${`field-row tint-${index % 6} ${chosen.value === index ? "is-chosen" : ""}`}
        data-field=${field.name}
        onPointerEnter=${() => (chosen.value = index)}
        onClick=${() => (chosen.value = index)}
      >
        <span class="field-name">${nameOf(field)}</span>
        <span class="field-value" title=${field.value}>${withDots(field.value)}</span>
        <span class="field-place number">${field.start}<span class="quiet"> +${field.length}</span></span>
      </li>`,
    )}
  </ul>`;
}

/** @param {Picture.RecordField} field */
const nameOf = (field) => (language === "zh" && field.name_zh ? `${field.name_zh} ${field.name}` : field.name);

/** @param {{ field: Picture.RecordField | null }} props */
function Explanation({ field }) {
  const text = field && ((language === "zh" && field.explanation_zh) || field.explanation || "");
  return html`<p class="field-explanation" id="hex-announce" aria-live="polite">
    ${
      field
        ? html`
          <strong>${nameOf(field)}</strong>${" "}
          <span class="quiet">${t("inspector.place", { start: field.start, length: field.length })}</span>
          <br />
          ${text}
        `
        : t("inspector.point")
    }
  </p>`;
}

/** @param {{ properties: Record<string, string> }} props */
function Properties({ properties }) {
  const names = Object.keys(properties);
  return html`<section class="inspector-properties">
    <h3>${t("word.properties")} <span class="quiet number">${names.length}</span></h3>
    ${
      names.length === 0
        ? html`<p class="quiet">${t("inspector.no_properties")}</p>`
        : html`<dl class="property-list">
          ${names.map((name) => html`<div key=${name}><dt>${name}</dt><dd>${properties[name]}</dd></div>`)}
        </dl>`
    }
  </section>`;
}

/** @param {{ view: Picture.RecordView }} props */
function Body({ view }) {
  const text = view.body_text ?? (view.body_hex ?? "").replace(/(..)/g, "$1 ");
  return html`<section class="inspector-message">
    <h3>
      ${t(view.body_text === null ? "inspector.body_hex" : "word.body")}${" "}
      <span class="quiet">${sizeText(view.body_bytes ?? view.record.body_bytes)}</span>
    </h3>
    ${view.body_problem && html`<p class="problem">${view.body_problem}</p>`}
    <pre class="message-body" tabindex="0" aria-label=${t("word.body")}>${text}</pre>
  </section>`;
}
