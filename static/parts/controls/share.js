// @ts-check
// What one can take away from a run: its link, a frame for another page, files, a film; an address for others to
// follow it; and the way back in, from a file.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { signal, useComputed, useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { hasFollowers } from "../../common/transport.js";
import { copyText } from "../../common/viewer/clipboard.js";
import { labData } from "../../common/world/commands.js";
import { Button } from "./button.js";
import { acceptDrops, importRun } from "./import_run.js";
import { embedCode, followAddress, shareAddress } from "../../common/world/permalink.js";
import { isRecording, publish, run } from "../../common/world/session.js";
import { loaded, mine, tell, view } from "../../common/world/view.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";
import { Select } from "../panel/select.js";
import { Switch } from "./choices.js";

/** Of a frame, CSS pixels. */
const SIZES = ["640x480", "960x600", "1280x800"];

const isOpen = signal(false);

/** A page in a frame or in a file cannot change. */
const takeDrops = () =>
  parent === window && !isRecording()
    ? acceptDrops(take, (isOver) => document.body.classList.toggle("is-dropping", isOver))
    : undefined;

export function Share() {
  useEffect(takeDrops, []);
  if (isRecording()) return null;
  return html`<${Button} id="share" opens=${isOpen} title=${`${t("lab.share.hint")} (c)`}>
    <${Icon} name="share" /><span class="button-text">${t("lab.share.title")}</span>
  </${Button}>`;
}

/** It is in the page, not in its head: what drops down there goes when a dialog opens. */
export const ShareDialog = () => html`<${Dialog}
  isOpen=${isOpen.value && loaded.value}
  onClose=${() => (isOpen.value = false)}
  id="share-dialog"
  kind="small-dialog share-dialog"
  title=${t("lab.share.heading")}
>
  <${Ways} onLeave=${() => (isOpen.value = false)} />
</${Dialog}>`;

/** @param {{ onLeave: () => void }} props */
function Ways({ onLeave }) {
  const place = useComputed(() => [view.value.link, view.value.in_past && view.value.event]);
  const size = useSignal(SIZES[1]);
  if (!place.value[0]) return null;
  const [width, height] = size.value.split("x");
  return html`
    <${Copied} name="link" text=${shareAddress()} autofocus />
    <${Copied} name="embed" text=${embedCode(width, height)}>
      <${Select}
        aria-label=${t("lab.share.size")} value=${size.value}
        choose=${(/** @type {string} */ one) => (size.value = one)}
        options=${SIZES.map((one) => [one, one.replace("x", " × ")])}
      />
    </${Copied}>
    <section class="share-way">
      <h3>${t("word.files")}</h3>
      <div class="button-row">
        <${File} format="html" /><${File} format="json" /><${Import} onLeave=${onLeave} />
      </div>
      <p class="quiet">${t("lab.share.files_text")}</p>
    </section>
    <${Copied} name="film" text=${`glassmq lab film ${view.value.scenario} --link ${view.value.link} -o run.gif`} />
    ${hasFollowers && mine.value && html`<${Follow} />`}
  `;
}

/** A heading, a text to take along with a button that copies it, and what it is good for.
    @param {{ name: string, text: string, children?: any, autofocus?: boolean }} props */
function Copied({ name, text, children, autofocus = false }) {
  const copied = useSignal("");
  /** Over plain http from another machine there is no clipboard: then the text is selected, to be copied by hand. */
  const copy = async () => {
    const isCopied = await copyText(text);
    if (!isCopied) document.getElementById(`share-${name}`)?.focus();
    copied.value = t(isCopied ? "word.copied" : "lab.share.copy_by_hand");
  };
  return html`<section class="share-way">
    <h3>${t(`lab.share.${name}`)}</h3>
    <div class="button-row">
      <input
        class="share-text mono"
        id=${`share-${name}`}
        readonly
        value=${text}
        aria-label=${t(`lab.share.${name}`)}
        onFocus=${(/** @type {FieldEvent} */ event) => event.currentTarget.select()}
      />
      ${children}
      <${Button}
        class=${`button ${autofocus ? "button-primary" : ""}`} id=${`copy-${name}`} autofocus=${autofocus}
        onClick=${copy}
      >
        ${t("word.copy")}
      </${Button}>
    </div>
    <p class="quiet">
      <strong role="status">${copied.value}</strong>${copied.value && " "}${t(`lab.share.${name}_text`)}
    </p>
  </section>`;
}

/** @param {{ format: string }} props */
function File({ format }) {
  return html`<a
    class="button"
    id=${`export-${format}`}
    href=${run.exportAddress(format)}
    download
    title=${t(`lab.export.${format}_hint`)}
  >
    <${Icon} name="save" />${t(`lab.export.${format}`)}
  </a>`;
}

/** @param {File} file */
const take = (file) => importRun(file, labData.import_max_bytes).catch((error) => tell(error.message, true));

/** Another run, from a file that was exported before; it may as well be dropped anywhere on the page.
    @param {{ onLeave: () => void }} props */
function Import({ onLeave }) {
  /** @param {FieldEvent} event */
  const chosen = (event) => {
    const [file] = event.currentTarget.files ?? [];
    event.currentTarget.value = "";
    onLeave();
    if (file) take(file);
  };
  return html`<label class="button import-button" title=${t("lab.import.hint")}>
    <${Icon} name="open" /><span>${t("lab.import.choose")}</span>
    <input type="file" class="sr-only" id="import-file" accept=".json,application/json" onChange=${chosen} />
  </label>`;
}

function Follow() {
  const published = useComputed(() => view.value.world.published ?? false).value;
  return html`
    <section class="share-way">
      <${Switch} id="publish" text=${t("lab.publish_hint")} isOn=${published} set=${publish} />
    </section>
    ${published && html`<${Copied} name="follow" text=${followAddress()} />`}
  `;
}
