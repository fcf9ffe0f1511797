// @ts-check
// What can be done to the thing of the stage that was pressed. What changes nothing any more is left out.

import { html } from "htm/preact";
import { ActionsPopover } from "../../common/actions/popover.js";
import { openThing } from "../../common/actions/thing.js";
import { t } from "../../common/i18n.js";
import { CommandForm } from "../controls/command_form.js";
import { hasEffect, isOver, isRecording } from "../../common/world/session.js";
import { offersFor } from "./offers.js";

export function Popover() {
  const open = openThing.value;
  if (!open) return null;
  const { actions, ...words } = offersFor(open.thing);
  const isFixed = isRecording();
  const shown = actions.filter((action) => !action.changes || (!isFixed && hasEffect(action.kind)));
  return html`<${ActionsPopover}
    key=${JSON.stringify(open.thing)} anchor=${open.anchor} ...${words} actions=${shown} Form=${CommandForm}
  >
    ${isFixed && shown.length < actions.length && html`<p class="quiet">${t("lab.recording_fixed")}</p>`}
    ${!isFixed && isOver() && html`<p class="quiet">${t("lab.actions.over")}</p>`}
  </${ActionsPopover}>`;
}
