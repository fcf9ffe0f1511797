// @ts-check
// A hex dump: position, sixteen bytes, the same bytes as text. Only the rows in sight are in the document.
//
// The dump is one tab stop with a byte cursor: arrow keys move it, and the field under it is the chosen one.

import { html } from "htm/preact";
import { useEffect, useMemo } from "preact/hooks";
import { t } from "../../common/i18n.js";
import { remPx } from "../../common/viewer/rem_px.js";
import { useSight } from "../../common/viewer/sight.js";
import { hexOf, ROW_BYTES, textOf } from "./hex_rows.js";

/** Number of background tints that fields take in turn (styles/inspector.css). */
const TINTS = 6;
/** Height of a row, as in styles/inspector.css. */
const ROW_REM = 1.6;

/** @typedef {import("@preact/signals").Signal<number | null>} Chosen */

/**
 * @param {object} properties
 * @param {Uint8Array} properties.bytes
 * @param {ArrayLike<number>} properties.owners By byte: the index of its field; below 0: none.
 * @param {{ start: number }[]} properties.fields
 * @param {Chosen} properties.chosen The index of the field to mark.
 * @param {Chosen} properties.cursor A byte.
 * @param {number} [properties.base] The position that is written before the first byte.
 */
export function HexView({ bytes, owners, fields, chosen, cursor, base = 0 }) {
  const rowHeight = ROW_REM * remPx.value;
  const rows = Math.ceil(bytes.length / ROW_BYTES);
  const { box, look, first, end } = useSight(rowHeight, rows);

  // A field chosen in the list may lie out of sight.
  useEffect(
    () =>
      chosen.subscribe((index) => index !== null && reveal(box.current, fields[index].start, ROW_REM * remPx.peek())),
    [fields],
  );
  useEffect(() => cursor.subscribe((byte) => byte !== null && reveal(box.current, byte, ROW_REM * remPx.peek())), []);

  /** @param {Event & { target: HTMLElement }} event */
  const point = (event) => {
    const at = event.target.closest(/** @type {"span"} */ ("[data-byte]"))?.dataset.byte;
    if (at === undefined) return;
    const field = owners[Number(at)];
    chosen.value = field >= 0 ? field : null;
    if (event.type === "click") cursor.value = Number(at);
  };
  const drawn = useMemo(() => Array.from({ length: end - first }, (_, index) => first + index), [first, end]);

  return html`<div
    class="hex"
    ref=${box}
    tabindex="0"
    role="application"
    aria-roledescription=${t("inspector.hex_role")}
    aria-label=${t("inspector.hex_label")}
    aria-describedby="hex-announce"
    onScroll=${look}
    onPointerOver=${point}
    onClick=${point}
    onKeyDown=${(/** @type {KeyboardEvent} */ event) => moveCursor(event, cursor, chosen, owners, bytes.length)}
  >
    <div class="hex-rows" aria-hidden="true" style=${{ height: `${rows * rowHeight}px` }}>
      ${drawn.map(
        (row) => html`<${HexRow}
          key=${row}
          top=${row * rowHeight}
          chosen=${chosen.value}
          cursor=${cursor.value}
          ...${{ row, bytes, owners, base }}
        />`,
      )}
    </div>
  </div>`;
}

/**
 * @param {{ row: number, bytes: Uint8Array, owners: ArrayLike<number>, base: number, top: number,
 *   chosen: number | null, cursor: number | null }} props
 */
function HexRow({ row, bytes, owners, base, top, chosen, cursor }) {
  const start = row * ROW_BYTES;
  const places = Array.from({ length: Math.min(ROW_BYTES, bytes.length - start) }, (_, index) => start + index);
  /** @param {number} at */
  const classOf = (at) =>
    [
      "byte",
      `tint-${owners[at] < 0 ? "none" : owners[at] % TINTS}`,
      owners[at] === chosen && chosen !== null && "is-chosen",
      at === cursor && "is-cursor",
    ]
      .filter(Boolean)
      .join(" ");
  return html`<div class="hex-row" style=${{ transform: `translateY(${top}px)` }}>
    <span class="hex-position">${(base + start).toString(16).padStart(6, "0")}</span>
    <span class="hex-bytes">
      ${places.map((at) => html`<span class=${classOf(at)} data-byte=${at}>${hexOf(bytes[at])}</span>`)}
    </span>
    <span class="hex-text">
      ${places.map((at) => html`<span class=${classOf(at)} data-byte=${at}>${textOf(bytes[at])}</span>`)}
    </span>
  </div>`;
}

/**
 * @param {HTMLElement | null} box
 * @param {number} byte
 * @param {number} rowHeight
 */
function reveal(box, byte, rowHeight) {
  if (!box) return;
  const top = Math.floor(byte / ROW_BYTES) * rowHeight;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = top + rowHeight - box.clientHeight;
}

/**
 * @param {KeyboardEvent} event
 * @param {Chosen} cursor
 * @param {Chosen} chosen
 * @param {ArrayLike<number>} owners
 * @param {number} length
 */
function moveCursor(event, cursor, chosen, owners, length) {
  /** @type {Record<string, number>} */
  const steps = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -ROW_BYTES,
    ArrowDown: ROW_BYTES,
    PageUp: -16 * ROW_BYTES,
    PageDown: 16 * ROW_BYTES,
  };
  const at = cursor.value ?? 0;
  const wanted = event.key === "Home" ? 0 : event.key === "End" ? length - 1 : at + (steps[event.key] ?? NaN);
  if (Number.isNaN(wanted)) return;
  event.preventDefault();
  const next = cursor.value === null ? 0 : Math.min(Math.max(wanted, 0), length - 1);
  cursor.value = next;
  chosen.value = owners[next] >= 0 ? owners[next] : null;
}
