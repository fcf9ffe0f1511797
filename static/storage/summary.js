// @ts-check
// Both stores in one line each: how many files, how many bytes, and what of them is messages, what is index.

import { html } from "htm/preact";
import { bytes, count } from "../common/format.js";
import { t } from "../common/i18n.js";
import { knownStores, STORES } from "./laboratory.js";
import { Heads } from "../parts/panel/heads.js";

/**
 * What a file is for, by its format.
 *
 * @type {Record<string, "messages" | "index">}
 */
const USES = {
  commitlog: "messages",
  log: "messages",
  consumequeue: "index",
  index: "index",
  offset_index: "index",
  time_index: "index",
};

export function Summary() {
  const rows = STORES.filter((store) => knownStores().stores[store]).map((store) => figuresOf(store));
  const most = Math.max(...rows.map((row) => row.messages + row.index + row.other));
  const label = t("storage.summary");
  return html`<div class="panel store-figures table-scroll" tabindex="0" role="group" aria-label=${label}>
    <table>
      <${Heads}
        columns=${[
          "storage.store",
          ["word.files", "number"],
          ["storage.messages_bytes", "number"],
          ["storage.index_bytes", "number"],
          ["storage.disk_bytes", "number"],
          ["storage.shares", "share-head"],
        ]}
      />
      <tbody>${rows.map((row) => html`<${Row} key=${row.store} row=${row} most=${most} />`)}</tbody>
    </table>
  </div>`;
}

/**
 * How many files there are, and the bytes of each use.
 *
 * @param {Picture.StoreName} store
 */
export function figuresOf(store) {
  const figures = { store, files: 0, messages: 0, index: 0, other: 0, disk: 0 };
  for (const file of knownStores().stores[store]) {
    figures.files += 1;
    figures.disk += file.disk_bytes;
    figures[USES[file.format] ?? "other"] += file.used_bytes;
  }
  return figures;
}

/** @param {{ row: ReturnType<typeof figuresOf>, most: number }} props */
function Row({ row, most }) {
  /** @param {"messages" | "index"} name */
  const part = (name) =>
    html`<span class=${`share share-${name}`} style=${{ width: `${(100 * row[name]) / most}%` }}></span>`;
  const share = { messages: bytes(row.messages), index: bytes(row.index) };
  return html`<tr>
    <th scope="row">${t(`storage.store.${row.store}`)}</th>
    <td class="number">${count(row.files)}</td>
    <td class="number">${bytes(row.messages)}</td>
    <td class="number">${bytes(row.index)}</td>
    <td class="number">${bytes(row.disk)}</td>
    <td class="shares" role="img" aria-label=${t("storage.shares_of", share)}>${part("messages")}${part("index")}</td>
  </tr>`;
}
