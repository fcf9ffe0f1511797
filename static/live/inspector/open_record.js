// @ts-check
// A button that opens the inspector for a record.

import { html } from "htm/preact";
import { inspectedOffset } from "../../common/cluster/selection.js";
import { t } from "../../common/i18n.js";
import { Button } from "../../parts/controls/button.js";

/** @param {{ offset: number, kind: string, children?: any }} properties `offset`: that in the commit log. */
export const OpenRecord = ({ offset, kind, children }) =>
  html`<${Button}
    class=${`link-button ${kind}`} onClick=${() => (inspectedOffset.value = offset)}
    aria-label=${t("live.records.open", { offset })}
  >
    ${children}
  </${Button}>`;
