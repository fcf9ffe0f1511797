// What can be done to the thing of the stage that was pressed. What changes nothing any more is left out.

import { html } from "htm/preact";
import { DeedsPopover } from "../../common/deeds/popover.js";
import { openThing } from "../../common/deeds/thing.js";
import { t } from "../../common/i18n.js";
import { CommandForm } from "../panels/controls/command_form.js";
import { hasEffect, isOver, isRecording } from "../session.js";
import { offersFor } from "./offers.js";

export function Popover() {
  const open = openThing.value;
  if (!open) return null;
  const { title, text, deeds } = offersFor(open.thing);
  const isFixed = isRecording();
  const shown = deeds.filter((deed) => !deed.changes || (!isFixed && hasEffect(deed.kind)));
  return html`<${DeedsPopover}
    key=${JSON.stringify(open.thing)}
    anchor=${open.anchor}
    title=${title}
    text=${text}
    deeds=${shown}
    Form=${CommandForm}
  >
    ${isFixed && shown.length < deeds.length && html`<p class="quiet">${t("lab.recording_fixed")}</p>`}
    ${!isFixed && isOver() && html`<p class="quiet">${t("lab.deeds.over")}</p>`}
  </${DeedsPopover}>`;
}
