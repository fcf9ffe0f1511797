// @ts-check
// The command of a terminal that does what a form does, to be copied.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { copyText } from "../../../common/viewer/clipboard.js";
import { t } from "../../../common/i18n.js";
import { nameServerOption } from "../../../common/cluster/lists.js";
import { Button } from "../../../parts/controls/button.js";
import { Command } from "../../../parts/lane/marks.js";
import { commandLine } from "./shell_words.js";

/** `options` first, then the `values`, which may be anything: one that begins with a dash comes after "--". */
export function commandOf(name, options, values) {
  const dashed = values.some((value) => String(value).startsWith("-"));
  const server = nameServerOption.value.split(" ").filter(Boolean);
  return commandLine([...name.split(" "), ...options, ...server, ...(dashed ? ["--"] : []), ...values]);
}

export function ActionCommand({ text }) {
  const isCopied = useSignal(false);
  // Without a clipboard the button says nothing: the text can be selected.
  const copy = async () => (isCopied.value = await copyText(text));
  return html`<div class="action-command">
    <span class="quiet">${t("operator.command")}</span>
    <${Command} text=${text} />
    <${Button} class="button row-button" onClick=${copy}>${t(isCopied.value ? "word.copied" : "word.copy")}</${Button}>
  </div>`;
}
