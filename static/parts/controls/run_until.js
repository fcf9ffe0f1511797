// @ts-check
// "Run until": what to wait for, on which node, containing which text; or a point in virtual time.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { isRecording, runUntil } from "../../common/world/session.js";
import { loaded, nodeNames, view } from "../../common/world/view.js";
import { Button } from "./button.js";
import { BareDialog } from "./dialog.js";
import { FormRow, NumberInput, sending } from "./choices.js";
import { Icon } from "./icons.js";
import { Select } from "../panel/select.js";

/** The kinds of engine/lab/scenario/condition.py. */
const KINDS = ["label", "frame", "sent", "consume-begins", "consumed", "command", "time"];
/** @type {Record<string, string>} */
const EXAMPLES = { label: "commits offset", frame: "PULL_MESSAGE", command: "crash" };

export function RunUntil() {
  const on = useSignal("frame");
  const isOpen = useSignal(false);
  if (isRecording()) return null;
  const close = () => (isOpen.value = false);
  const start = sending((fields) => {
    const isTime = on.value === "time";
    close();
    runUntil({
      on: on.value,
      node: isTime ? "" : String(fields.get("node")),
      contains: isTime ? "" : String(fields.get("contains")).trim(),
      time_us: isTime ? Math.round(Number(fields.get("time_ms")) * 1000) : 0,
    });
  });
  const kinds = KINDS.map((kind) => [kind, t(`lab.until.kind_${kind.replace("-", "_")}`)]);
  return html`
    <${Button} id="run-until" disabled=${!loaded.value} opens=${isOpen} title=${`${t("lab.until.hint")} (u)`}>
      <${Icon} name="until" /><span>${t("lab.controls.run_until")}</span>
    </${Button}>
    <${BareDialog} isOpen=${isOpen.value} onClose=${close} id="run-until-dialog" kind="small-dialog">
      <form onSubmit=${start}>
        <h2 id="run-until-dialog-title">${t("lab.until.title")}</h2>
        <p class="quiet">${t("lab.until.hint")}</p>
        <${FormRow} label=${t("lab.until.on")}>
          <${Select}
            name="on" value=${on.value} choose=${(/** @type {string} */ kind) => (on.value = kind)} options=${kinds}
          />
        </${FormRow}>
        ${on.value === "time" ? html`<${Time} key="time" />` : html`<${Place} key="place" on=${on.value} />`}
        <div class="form-end">
          <${Button} onClick=${close}>${t("word.cancel")}</${Button}>
          <button type="submit" class="button button-primary">${t("lab.until.run")}</button>
        </div>
      </form>
    </${BareDialog}>
  `;
}

const Time = () =>
  html`<${FormRow} label=${t("lab.until.time_ms")}>
    <${NumberInput}
      name="time_ms" min="0" step="any" required defaultValue=${Math.round(view.peek().time_us / 1000) + 1000}
    />
  </${FormRow}>`;

/** @param {{ on: string }} props */
const Place = ({ on }) => html`
  <${FormRow} label=${t("lab.events.node")}>
    <${Select} name="node" options=${[["", t("lab.until.any_node")], ...nodeNames.value]} />
  </${FormRow}>
  <${FormRow} label=${t("lab.until.contains")}>
    <input
      class="input" type="text" name="contains" maxlength="100"
      placeholder=${t("lab.until.example", { text: EXAMPLES[on] ?? "order-7" })}
    />
  </${FormRow}>
`;
