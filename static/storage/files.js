// @ts-check
// The files of both stores as two trees, and the one that is open: unit by unit, and one unit to the byte.

import { html } from "htm/preact";
import { bytes } from "../common/format.js";
import { t } from "../common/i18n.js";
import { Button } from "../parts/controls/button.js";
import { Panel } from "../parts/panel/panel.js";
import { FileBrowser } from "./file_browser.js";
import { knownStores, place, show, STORES } from "./laboratory.js";

export function Files() {
  const { stores } = knownStores();
  const open = place.value;
  return html`
    <div class="store-trees">
      ${STORES.filter((store) => stores[store]).map(
        (store) => html`<${Tree} key=${store} store=${store} files=${stores[store]} />`,
      )}
    </div>
    ${open && html`<${FileBrowser} key=${`${open.store}/${open.path}`} ...${open} />`}
  `;
}

/** @param {{ store: Picture.StoreName, files: Picture.FileOfStore[] }} props */
function Tree({ store, files }) {
  const [title, hint] = [t(`storage.store.${store}`), t(`storage.tree.${store}`)];
  return html`<${Panel} name=${`tree-${store}`} kind="store-tree" title=${title} hint=${hint}>
    <ul class="tree-folders">
      ${byFolder(files).map(
        ([folder, inside]) => html`<li key=${folder}>
          ${folder && html`<span class="tree-folder mono">${folder}/</span>`}
          <ul class=${folder ? "tree-files" : ""}>
            ${inside.map((file) => html`<${File} key=${file.path} store=${store} folder=${folder} file=${file} />`)}
          </ul>
        </li>`,
      )}
    </ul>
  </${Panel}>`;
}

/**
 * The files of each folder in the order of the paths; "" for those next to the folders, which come last.
 *
 * @param {Picture.FileOfStore[]} files
 */
function byFolder(files) {
  /** @type {Map<string, Picture.FileOfStore[]>} */
  const folders = new Map();
  for (const file of files) {
    const folder = file.path.slice(0, Math.max(0, file.path.lastIndexOf("/")));
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  return [...folders].sort(([one], [other]) => Number(one === "") - Number(other === ""));
}

/** @param {{ store: Picture.StoreName, folder: string, file: Picture.FileOfStore }} props */
function File({ store, folder, file }) {
  const isOpen = place.value?.store === store && place.value?.path === file.path;
  return html`<li>
    <${Button}
      class="tree-file" aria-current=${isOpen ? "true" : null} aria-label=${`${file.path}, ${bytes(file.size_bytes)}`}
      onClick=${() => show(store, file.path)}
    >
      <span class="mono">${folder ? file.path.slice(folder.length + 1) : file.path}</span>
      <span class="quiet number" title=${t("storage.on_disk", { size: bytes(file.disk_bytes) })}>
        ${bytes(file.size_bytes)}
      </span>
    </${Button}>
  </li>`;
}
