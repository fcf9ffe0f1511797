// @ts-check
// The fields of an action that needs some words: one kind of command, of which part stands fixed.

import { html } from "htm/preact";
import { CommandField, readFields } from "../../common/actions/fields.js";
import { command } from "../../common/faults.js";
import { sending } from "../../parts/controls/choices.js";
import { fieldOf } from "./table.js";

/** `ask`: fields that are asked for -> what they begin with; `options`: field -> its [value, text] pairs. */
export function ActionForm({ kind, target, fixed = {}, ask, options = {}, label, onDone }) {
  const fields = Object.keys(ask).map((name) => fieldOf(kind, name));
  const submit = sending(async (typed) => {
    if (await command(kind, target, { ...fixed, ...readFields(fields, typed) })) onDone();
  });
  return html`<form class="command-form" data-command=${kind} onSubmit=${submit}>
    ${fields.map(
      (field) =>
        html`<${CommandField}
          key=${field.name}
          field=${field}
          start=${ask[field.name] ?? undefined}
          options=${options[field.name]}
        />`,
    )}
    <button type="submit" class="button button-primary command-go">${label}</button>
  </form>`;
}
