// @ts-check
// "Run until": what to wait for, on which node, containing which text; or a point in virtual time.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { isRecording, runUntil } from "../../common/world/session.js";
import { loaded, nodeNames, view } from "../../common/world/view.js";
import { Button } from "./button.js";
import { Icon } from "./icons.js";

/** The kinds of engine/lab/scenario/condition.py. */
const KINDS = ["label", "frame", "sent", "consume-begins", "consumed", "command", "time"];
const EXAMPLES = { label: "commits offset", frame: "PULL_MESSAGE", command: "crash" };

export function RunUntil() {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const on = useSignal("frame");
  const isOpen = useSignal(false);
  useEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
  }, [isOpen.value]);
  if (isRecording()) return null;
  const start = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const isTime = on.value === "time";
    dialog.current?.close();
    runUntil({
      on: on.value,
      node: isTime ? "" : String(form.get("node")),
      contains: isTime ? "" : String(form.get("contains")).trim(),
      time_us: isTime ? Math.round(Number(form.get("time_ms")) * 1000) : 0,
    });
  };
  return html`
    <${Button} id="run-until" disabled=${!loaded.value} opens=${isOpen} title=${`${t("lab.until.hint")} (u)`}>
      <${Icon} name="until" /><span>${t("lab.controls.run_until")}</span>
    </${Button}>
    <dialog
      class="small-dialog"
      id="run-until-dialog"
      ref=${dialog}
      aria-labelledby="run-until-title"
      onClose=${() => (isOpen.value = false)}
    >
      <form onSubmit=${start}>
        <h2 id="run-until-title">${t("lab.until.title")}</h2>
        <p class="quiet">${t("lab.until.hint")}</p>
        <label class="form-row">
          <span>${t("lab.until.on")}</span>
          <select name="on" value=${on.value} onChange=${(event) => (on.value = event.currentTarget.value)}>
            ${KINDS.map(
              (kind) =>
                html`<option key=${kind} value=${kind}>${t(`lab.until.kind_${kind.replace("-", "_")}`)}</option>`,
            )}
          </select>
        </label>
        ${
          on.value === "time"
            ? html`<label class="form-row" key="time">
              <span>${t("lab.until.time_ms")}</span>
              <input
                class="input"
                type="number"
                name="time_ms"
                min="0"
                step="any"
                required
                value=${Math.round(view.peek().time_us / 1000) + 1000}
              />
            </label>`
            : html`
              <label class="form-row" key="node">
                <span>${t("lab.events.node")}</span>
                <select name="node">
                  <option value="">${t("lab.until.any_node")}</option>
                  ${nodeNames.value.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
                </select>
              </label>
              <label class="form-row" key="contains">
                <span>${t("lab.until.contains")}</span>
                <input
                  class="input"
                  type="text"
                  name="contains"
                  maxlength="100"
                  placeholder=${t("lab.until.example", { text: EXAMPLES[on.value] ?? "order-7" })}
                />
              </label>
            `
        }
        <div class="form-end">
          <${Button} onClick=${() => dialog.current?.close()}>${t("word.cancel")}</${Button}>
          <button type="submit" class="button button-primary">${t("lab.until.run")}</button>
        </div>
      </form>
    </dialog>
  `;
}
