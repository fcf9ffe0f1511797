// The button that opens the form for a group's offsets.

import { html } from "htm/preact";
import { t } from "../../../common/i18n.js";
import { askToReset } from "./asked.js";

export function ResetButton({ group }) {
  return html`<button
    type="button"
    class="button row-button"
    aria-haspopup="dialog"
    aria-label=${`${t("operator.reset")} ${group}`}
    onClick=${() => askToReset(group)}
  >
    ${t("operator.reset")}
  </button>`;
}
