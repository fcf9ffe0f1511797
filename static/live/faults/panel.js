// @ts-check
// The panel of faults: the rules and what they did, and the frames that are held. There only where the server
// allows faults.

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { brokenWords } from "../../common/fault_words.js";
import { faults, isHolding, refusal, removeAll } from "../../common/faults.js";
import { span } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { Button } from "../../parts/controls/button.js";
import { Panel } from "../../parts/panel/panel.js";
import { ToldLine } from "../told_line.js";
import { Held } from "./held.js";
import { Record } from "./record.js";
import { Hits, Rules } from "./rules.js";
import { RuleForm } from "./rule_form.js";
import { FrameRecordingStrip } from "./frame_recording_strip.js";

export function FaultPanel() {
  const isAsking = useSignal(false);
  const { rules, is_active: isActive, clock_ahead_ms: ahead } = faults.value;
  const hasRules = rules.length > 0;
  // It stays as long as a rule that held is there, spent or not: nothing moves while one steps.
  const holds = isHolding.value || rules.some(({ what }) => what === "hold");
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const close = () => {
    isAsking.value = false;
    button.current?.focus();
  };
  const head = html`<span class="fault-state quiet">
      ${isActive ? brokenWords().join(t("text.list_separator")) : t("faults.none")}
      ${ahead > 0 && html` <span class="badge">${t("faults.is.ahead", { time: span(ahead) })}</span>`}
    </span>
    <span class="fault-buttons">
      <${Button}
        ref=${button} aria-expanded=${isAsking.value} aria-controls="rule-form"
        onClick=${() => (isAsking.value = !isAsking.value)}
      >
        ${t("faults.new_rule")}
      </${Button}>
      <${Button} disabled=${!isActive && !hasRules} onClick=${removeAll}>${t("faults.remove_all")}</${Button}>
    </span>`;
  return html`<${Panel} id="faults" kind="faults" title=${t("section.faults")} head=${head}>
    ${isAsking.value && html`<${RuleForm} onDone=${close} />`}
    <${Record} />
    ${faults.value.recording?.is_on && html`<${FrameRecordingStrip} />`}
    ${
      (hasRules || holds) &&
      html`<div class="fault-columns">
        ${holds && html`<${Held} />`}
        <div class="fault-rules"><${Rules} /><${Hits} /></div>
      </div>`
    }
  </${Panel}>`;
}

/** Why the last action was refused, wherever on the page it was pressed. */
export const Refusal = () => html`<${ToldLine} role="alert" text=${refusal} kind="is-problem" />`;
