// @ts-check
// The rules behind the verdict: what each means, from which threshold on it speaks, and whether it speaks at all.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { count } from "../../../common/format.js";
import { language, t } from "../../../common/i18n.js";
import { firstOf } from "../../../common/elements.js";
import { post } from "../../../common/request.js";
import { ActionDialog, ActionForm } from "../../../parts/messages/action.js";
import { useAnswer } from "../../../common/server/answer.js";
import { Heads } from "../../../parts/panel/heads.js";

export function Thresholds({ isOpen, onClose }) {
  // Asked each time: what was shown last time may have been changed by somebody else.
  const { answer: known, why: problem } = useAnswer(isOpen ? "/api/live/verdict" : null);
  /** @type {{ rule: string }[]} */
  const rules = known?.rules ?? [];
  /** Rule -> threshold, null where it is off. */
  const wanted = () => {
    const form = new FormData(firstOf("#thresholds form", HTMLFormElement));
    return Object.fromEntries(rules.map(({ rule }) => [rule, form.has(`${rule}-on`) ? Number(form.get(rule)) : null]));
  };
  const act = async () => {
    const { why, answer } = await post("/api/live/verdict/thresholds", wanted());
    return { why: why ?? "", done: answer };
  };
  return html`<${ActionDialog} id="thresholds" question=${isOpen} onClose=${onClose}>
    <${ActionForm}
      id="thresholds"
      title=${t("word.rules")}
      button=${t("live.verdict.save")}
      act=${act}
      onClose=${onClose}
      onDone=${() => {}}
    >
      <p class="quiet">${t("live.verdict.rules_hint")}</p>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      <div class="thresholds-scroll" tabindex="0" role="group" aria-labelledby="thresholds-title">
        <table class="thresholds">
          <${Heads} columns=${["live.verdict.on", "word.metric", "live.verdict.from"]} />
          <tbody>${rules.map((rule) => html`<${Rule} key=${rule.rule} ...${rule} />`)}</tbody>
        </table>
      </div>
    <//>
  <//>`;
}

function Rule({ rule, threshold, default: usual, least, most, unit, text }) {
  const isOn = useSignal(threshold !== null);
  const meaning = text[language];
  return html`<tr data-rule=${rule}>
    <td>
      <input
        type="checkbox"
        name=${`${rule}-on`}
        checked=${isOn.value}
        onChange=${(event) => (isOn.value = event.target.checked)}
        aria-label=${t("live.verdict.on_label", { rule: meaning })}
      />
    </td>
    <td id=${`threshold-${rule}`}>${meaning}</td>
    <td>
      <input
        type="number"
        name=${rule}
        defaultValue=${threshold ?? usual}
        min=${least}
        max=${most}
        step="1"
        required
        readonly=${!isOn.value}
        aria-labelledby=${`threshold-${rule}`}
      />
      <span class="unit"> ${t(`unit.${unit}`)}</span>
      <span class="quiet threshold-usual">${t("live.verdict.usual", { value: count(usual) })}</span>
    </td>
  </tr>`;
}
