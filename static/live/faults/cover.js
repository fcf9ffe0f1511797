// Over the stage while there is no state to show, because the broker was killed or the engine paused on purpose: why,
// and what ends it.

import { html } from "htm/preact";
import { brokenWords, Revive } from "../../common/fault_words.js";
import { faults } from "../../common/faults.js";
import { t } from "../../common/i18n.js";

export function Cover() {
  const { broken, paused_ms: paused = 0 } = faults.value;
  if (paused === 0 && !broken.broker_crashed) return null;
  return html`<div class="stage-cover">
    <div class="panel stage-cover-box">
      <h2>${brokenWords()[0]}</h2>
      <p>${t(paused > 0 ? "faults.cover_paused" : "faults.cover_crashed")}</p>
      <${Revive} isPrimary=${true} />
    </div>
  </div>`;
}
