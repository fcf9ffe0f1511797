// @ts-check
// A whole rule: what happens to which frames, how often, until when. Fields that mean nothing for the chosen action are
// left out.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { CommandField, readFields } from "../../common/actions/fields.js";
import { firstOf } from "../../common/elements.js";
import { command, faults } from "../../common/faults.js";
import { t } from "../../common/i18n.js";
import { KINDS, kindText } from "./table.js";
import { Button } from "../../parts/controls/button.js";
import { sending } from "../../parts/controls/choices.js";

/** Fields that some actions alone know. */
const ONLY_OF = {
  ms: ["delay", "answer-late"],
  code: ["reject"],
  direction: ["drop", "delay", "duplicate", "cut", "corrupt", "hold"],
};
/**
 * What a group of fields is called, and its fields.
 *
 * @type {[text: string, fields: string[]][]}
 */
const GROUPS = [
  ["word.action", ["what", "frame", "ms", "code"]],
  ["lab.panel.frames", ["direction", "client", "topic", "group", "key"]],
  ["faults.column.when", ["times", "every", "ratio", "seed", "for_ms"]],
];
const STARTS = { what: "drop", times: 1 };

export function RuleForm({ onDone }) {
  const what = useSignal(STARTS.what);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  /** The select of what happens to the frames. */
  const choice = () => form.current && firstOf("[name=what]", HTMLSelectElement, form.current);
  useEffect(() => choice()?.focus(), []);
  const fields = KINDS.fault.fields.filter(({ name }) => !(name in ONLY_OF) || ONLY_OF[name].includes(what.value));
  const submit = sending(async (typed) => {
    if (await command("fault", faults.value.broker, readFields(fields, typed))) onDone();
  });
  return html`<form
    class="rule-form"
    id="rule-form"
    ref=${form}
    onSubmit=${submit}
    onKeyDown=${(event) => event.key === "Escape" && onDone()}
    onChange=${() => (what.value = choice()?.value ?? what.value)}
  >
    <p class="quiet">${kindText("fault")}</p>
    <div class="rule-fields">
      ${GROUPS.map(
        ([group, names]) =>
          html`<fieldset key=${group}>
            <legend>${t(group)}</legend>
            ${fields
              .filter(({ name }) => names.includes(name))
              .map((field) => html`<${CommandField} key=${field.name} field=${field} start=${STARTS[field.name]} />`)}
          </fieldset>`,
      )}
    </div>
    <div class="action-end">
      <${Button} onClick=${onDone}>${t("word.cancel")}</${Button}>
      <button type="submit" class="button button-primary">${t("faults.add")}</button>
    </div>
  </form>`;
}
