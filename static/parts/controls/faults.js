// @ts-check
// The fault palette: active faults, and all that can be injected: nodes, links, the next matching frame.

import { html } from "htm/preact";
import { useComputed, useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { COMMANDS, commandName, commandText, kindsOfTarget } from "../../common/world/commands.js";
import { bilingual } from "../../common/world/format.js";
import { command, isRecording } from "../../common/world/session.js";
import { acting } from "../actions/thing.js";
import { nodeNames, view } from "../../common/world/view.js";
import { Button } from "./button.js";
import { CommandForm } from "./command_form.js";
import { Icon } from "./icons.js";

const GROUPS = [
  ["links", ["link"]],
  ["frames", ["link or nothing"]],
  ["network", ["nothing"]],
  ["group", ["new node", "topic"]],
  ["order", ["node or nothing"]],
];

export function Faults() {
  const active = useComputed(() => view.value.faults).value;
  return html`<div class="faults">
    <ul class="active-faults" aria-label=${t("lab.faults.active")}>
      ${active.length === 0 && html`<li class="quiet">${t("lab.faults.none")}</li>`}
      ${active.map(
        (fault, index) =>
          html`<li key=${index} class="active-fault">
            <${Icon} name="fault" />${" "}
            <strong>${fault.target}</strong>${" "}
            ${bilingual(fault.text) || commandName(fault.kind)}
          </li>`,
      )}
    </ul>
    ${
      isRecording()
        ? html`<p class="quiet">${t("lab.recording_fixed")}</p>`
        : html`
          <section class="palette">
            <h3>${t("lab.faults.nodes")}</h3>
            <div class="button-row">
              ${nodeNames.value.map(
                (name) => html`<button key=${name} class="button small-button" ...${acting("node", { name })}>
                  <${Icon} name="fault" />${name}
                </button>`,
              )}
            </div>
          </section>
          ${GROUPS.map(
            ([group, targets]) =>
              html`<section key=${group} class="palette">
                <h3>${t(`lab.faults.${group}`)}</h3><${Kinds} kinds=${kindsOfTarget(...targets)} />
              </section>`,
          )}
        `
    }
  </div>`;
}

/** Buttons; the pressed one shows its form below. Without fields it acts at once.
    @param {{ kinds: string[] }} props */
function Kinds({ kinds }) {
  const chosen = useSignal(/** @type {string | null} */ (null));
  /** @param {string} kind */
  const press = (kind) => {
    const needsForm = COMMANDS[kind].fields.length > 0 || COMMANDS[kind].target !== "nothing";
    if (needsForm) chosen.value = chosen.value === kind ? null : kind;
    else command(kind, "");
  };
  return html`
    <div class="button-row">
      ${kinds.map(
        (kind) =>
          html`<${Button}
            key=${kind} class="button small-button" data-kind=${kind} aria-pressed=${chosen.value === kind}
            onClick=${() => press(kind)} title=${commandText(kind)}
          >
            ${commandName(kind)}
          </${Button}>`,
      )}
    </div>
    ${
      chosen.value &&
      html`<${CommandForm} key=${chosen.value} kind=${chosen.value} onDone=${() => (chosen.value = null)} />`
    }
  `;
}
