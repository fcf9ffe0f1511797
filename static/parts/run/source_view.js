// @ts-check
// The engine's own source with the line marked that the next event continues at.

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { labelText } from "../../common/world/labels.js";
import { run } from "../../common/world/session.js";
import { calmView } from "../../common/world/view.js";
import { colourLine } from "./python_tokens.js";

/**
 * The lines of each file.
 *
 * @type {Map<string, Promise<string[]>>}
 */
const files = new Map();

/** @param {string} file */
function linesOf(file) {
  const lines =
    files.get(file) ??
    run
      .sourceFile(file)
      .then((answer) => (Array.isArray(answer?.lines) ? answer.lines : (answer?.text ?? "").split("\n")))
      .catch((error) => (files.delete(file), [`# ${error.message}`]));
  files.set(file, lines);
  return lines;
}

export function SourceView() {
  const next = useComputed(() => calmView.value.next);
  const shown = useSignal(/** @type {{ file: string, lines: string[] } | null} */ (null));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const { file = null, line: nextLine = null, function: name = "" } = next.value ?? {};
  useEffect(() => {
    let isWanted = true;
    if (file) linesOf(file).then((lines) => isWanted && (shown.value = { file, lines }));
    return () => void (isWanted = false);
  }, [file]);
  const line = shown.value?.file === file ? nextLine : null;
  useLayoutEffect(() => {
    box.current?.querySelector(".is-next")?.scrollIntoView({ block: "center", inline: "nearest" });
  }, [line, shown.value]);
  return html`<div class="source">
    <${Next} next=${next.value} />
    ${
      file &&
      html`<div class="source-place">
        <code>${file}${nextLine ? `:${nextLine}` : ""}</code>${" "}
        <span class="quiet mono ellipsis">${name}</span>
      </div>`
    }
    <div class="source-lines" ref=${box} tabindex="0" role="group" aria-label=${t("lab.panel.source")}>
      ${shown.value && file && html`<${Lines} key=${shown.value.file} lines=${shown.value.lines} line=${line} />`}
      ${!file && next.value && html`<p class="quiet source-none">${t("lab.source.none")}</p>`}
    </div>
  </div>`;
}

function Next({ next }) {
  const { stopped_by: stopped, is_over: isOver } = calmView.value;
  if (!next)
    return html`<p class="source-next quiet">
      ${t(stopped?.kind === "over" || isOver ? "lab.stopped.over" : "lab.source.nothing")}
    </p>`;
  return html`<p class="source-next" id="next-event">
    <span class="quiet">${t("lab.source.next")}</span>${" "}
    <strong>${next.actor}</strong>${" "}
    <span>${labelText(next.label)}</span>
  </p>`;
}

const AROUND = 40;

/** Only the lines near the marked one are in the document. */
function Lines({ lines, line }) {
  const first = Math.max(0, (line ?? 1) - AROUND);
  return html`<ol class="code" style=${{ counterReset: `line ${first}` }}>
    ${lines.slice(first, first + 2 * AROUND).map(
      (text, index) =>
        html`<li
          key=${first + index}
          class=${first + index + 1 === line ? "is-next" : ""}
          aria-current=${first + index + 1 === line ? "step" : undefined}
        >
          <code>${colourLine(text)}</code>
        </li>`,
    )}
  </ol>`;
}
