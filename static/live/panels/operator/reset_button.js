// @ts-check
// The button that opens the form for a group's offsets.

import { html } from "htm/preact";
import { t } from "../../../common/i18n.js";
import { askToReset } from "../../../common/cluster/asked.js";
import { Button } from "../../../parts/controls/button.js";

/** `isShort` where the group is named next to it. */
export function ResetButton({ group, isShort = false }) {
  return html`<${Button}
    class="button row-button" aria-haspopup="dialog" aria-label=${`${t("operator.reset")} ${group}`}
    onClick=${() => askToReset(group)}
  >
    ${t(isShort ? "operator.reset_short" : "operator.reset")}
  </${Button}>`;
}
