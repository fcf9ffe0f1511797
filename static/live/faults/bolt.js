// @ts-check
// The small bolt at a thing of the live page: what can be broken at it, there where faults are allowed. Filled while a
// rule waits for frames of it.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { acting, openThing } from "../../common/actions/thing.js";
import { ActionsPopover } from "../../common/actions/popover.js";
import { activeRules } from "../../common/faults.js";
import { t } from "../../common/i18n.js";
import { Icon } from "../../parts/controls/icons.js";
import { ActionForm } from "./action_form.js";
import { offersFor } from "./offers.js";
import { isAllowed } from "./table.js";

/** `kind` and `facts`: see offers.js; `name`: what it is, for users. */
export const Bolt = (properties) => isAllowed && html`<${BoltButton} ...${properties} />`;

function BoltButton({ kind, facts, name }) {
  const isHit = useComputed(() =>
    activeRules.value.some((rule) => (facts.client ? rule.client === facts.client : rule.group === facts.group)),
  );
  const label = t("faults.bolt", { name });
  return html`<button
    class=${`bolt ${isHit.value && (facts.client || facts.group) ? "is-hit" : ""}`}
    ...${acting(kind, facts)}
    aria-label=${label}
    title=${label}
  >
    <${Icon} name="fault" />
  </button>`;
}

export function BoltPopover() {
  const open = openThing.value;
  if (!open) return null;
  const { note, ...offer } = offersFor(open.thing);
  return html`<${ActionsPopover}
    key=${JSON.stringify(open.thing)} anchor=${open.anchor} ...${offer} Form=${ActionForm}
  >
    ${note && html`<p class="quiet">${note}</p>`}
  </${ActionsPopover}>`;
}
