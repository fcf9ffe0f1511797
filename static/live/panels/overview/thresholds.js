// @ts-check
// The rules behind the verdict: what each means, from which threshold on it speaks, and whether it speaks at all.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { count } from "../../../common/format.js";
import { sendRequest } from "../../../common/transport.js";
import { language, t } from "../../../common/i18n.js";
import { firstOf } from "../../../common/elements.js";
import { post } from "../../../common/request.js";
import { ActionDialog, ActionForm } from "../../../parts/messages/action.js";

export function Thresholds({ isOpen, onClose }) {
  const rules = useSignal(/** @type {{ rule: string }[] | null} */ (null));
  const problem = useSignal("");
  useEffect(() => {
    if (isOpen) load(rules, problem);
  }, [isOpen]);
  /** Rule -> threshold, null where it is off. */
  const wanted = () => {
    const form = new FormData(firstOf("#thresholds form", HTMLFormElement));
    return Object.fromEntries(
      (rules.value ?? []).map(({ rule }) => [rule, form.has(`${rule}-on`) ? Number(form.get(rule)) : null]),
    );
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
      ${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
      <div class="thresholds-scroll" tabindex="0" role="group" aria-labelledby="thresholds-title">
        <table class="thresholds">
          <thead>
            <tr>
              <th scope="col">${t("live.verdict.on")}</th>
              <th scope="col">${t("word.metric")}</th>
              <th scope="col">${t("live.verdict.from")}</th>
            </tr>
          </thead>
          <tbody>${rules.value?.map((rule) => html`<${Rule} key=${rule.rule} ...${rule} />`)}</tbody>
        </table>
      </div>
    <//>
  <//>`;
}

async function load(rules, problem) {
  rules.value = null; // what was shown last time may have been changed by somebody else
  try {
    const response = await sendRequest("/api/live/verdict");
    const answer = await response.json();
    rules.value = response.ok ? answer.rules : null;
    problem.value = response.ok ? "" : answer.error;
  } catch (error) {
    problem.value = t("live.search.unreachable", { why: error.message });
  }
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
