// @ts-check
// One file: its units in pages, and the chosen unit with its fields and bytes.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { useAnswer } from "../common/server/answer.js";
import { bytes, clockTime, count } from "../common/format.js";
import { t } from "../common/i18n.js";
import { Button } from "../parts/controls/button.js";
import { FieldsAndBytes } from "../parts/inspector/record_details.js";
import { addressOf, knownStores } from "./laboratory.js";
import { unitText } from "./units.js";
import { Panel } from "../parts/panel/panel.js";
import { ScrollingTable } from "../parts/panel/table.js";

/** Formats that need a word of explanation. */
const EXPLAINED = ["commitlog", "consumequeue", "index", "checkpoint", "log", "offset_index", "time_index"];

/** @type {(props: { store: Picture.StoreName, path: string, at: number }) => any} */
export function FileBrowser({ store, path, at }) {
  const from = useSignal(at);
  const chosen = useSignal(at);
  useEffect(() => {
    from.value = chosen.value = at;
  }, [at]);
  const { answer: file, why } = useAnswer(addressOf("file", { store, path, at: from.value }), { keepsLast: true });
  /** @param {number} position */
  const turn = (position) => (from.value = chosen.value = position);
  const title = html`<span class="quiet">${t(`storage.store.${store}`)}</span> <span class="mono">${path}</span>`;
  const hint = file && `${bytes(file.size_bytes)} · ${t("storage.units", { n: file.unit_count })}`;
  return html`<${Panel} name="file" kind="file-browser" title=${title} hint=${hint}>
    ${why && html`<p class="problem" role="alert">${why}</p>`}
    ${
      file &&
      EXPLAINED.includes(file.format) &&
      html`<p class="file-about">${t(`storage.format.${file.format}`, knownStores().sizes)}</p>`
    }
    ${
      file &&
      html`<div class="file-columns">
        <div class="unit-column">
          <${Turns} file=${file} turn=${turn} />
          <${Units} file=${file} chosen=${chosen} />
        </div>
        <${Unit} key=${chosen.value} store=${store} path=${path} at=${chosen.value} />
      </div>`
    }
  </${Panel}>`;
}

/** @param {{ file: Picture.PageOfFile, turn: (at: number) => void }} props */
function Turns({ file, turn }) {
  /** @type {(key: string, at: number | null, isThere: boolean) => any} */
  const button = (key, at, isThere) =>
    html`<${Button} class="button row-button" disabled=${!isThere} onClick=${() => at !== null && turn(at)}>
      ${t(`storage.turn.${key}`)}
    </${Button}>`;
  return html`<div class="unit-turns">
    ${button("first", 0, file.previous_at !== null)}${button("previous", file.previous_at, file.previous_at !== null)}
    ${button("next", file.next_at, file.next_at !== null)}${button("last", file.last_at, file.next_at !== null)}
    <span class="quiet number">
      ${t("storage.turn.range", { from: file.first + 1, n: file.first + file.units.length })}
    </span>
  </div>`;
}

/** @param {{ file: Picture.PageOfFile, chosen: { value: number } }} props */
function Units({ file, chosen }) {
  /** @param {Picture.UnitOfFile} unit */
  const isChosen = (unit) => unit.start <= chosen.value && chosen.value < unit.start + Math.max(1, unit.length);
  return html`<ol class="unit-list" aria-label=${t("storage.unit_list")}>
    ${file.units.map(
      (unit) => html`<li key=${unit.start}>
        <${Button}
          class="unit-button" aria-current=${isChosen(unit) ? "true" : null}
          onClick=${() => (chosen.value = unit.start)}
        >
          <span class="quiet number">${count(unit.start)}</span>
          <span>${unitText(unit)}</span>
        </${Button}>
      </li>`,
    )}
  </ol>`;
}

/** @param {{ store: Picture.StoreName, path: string, at: number }} props */
function Unit({ store, path, at }) {
  const { answer: unit, why } = useAnswer(addressOf("unit", { store, path, at }));
  if (why) return html`<p class="problem" role="alert">${why}</p>`;
  if (!unit) return html`<p class="loading">${t("storage.loading")}</p>`;
  return html`<div class="unit-details">
    <h3>${unitText(unit)}</h3>
    <p class="quiet">${t("storage.unit_place", { start: unit.start, n: unit.length })}</p>
    ${unit.length > 0 && html`<${FieldsAndBytes} view=${unit} size=${unit.length} base=${unit.start} />`}
    ${unit.contents.length > 0 && html`<${Contents} records=${unit.contents} total=${unit.values.records} />`}
  </div>`;
}

/**
 * The records of a batch, which may be packed: then no byte of the file is one of theirs alone.
 *
 * @param {{ records: Picture.BatchedRecord[], total: number }} props
 */
function Contents({ records, total }) {
  const title = t("storage.contents", { shown: records.length, total });
  return html`<details class="batch-contents" open>
    <summary>${title}</summary>
    <${ScrollingTable} label=${title} columns=${[["word.offset", "number"], "word.time", "word.key", "word.value"]}>
      ${records.map(
        (record) => html`<tr key=${record.offset}>
          <td class="number">${count(record.offset)}</td>
          <td class="number">${clockTime(record.time_us, true)}</td>
          <td class="mono">${record.key ?? "–"}</td>
          <td class="mono">${record.value ?? "–"}</td>
        </tr>`,
      )}
    <//>
  </details>`;
}
