// @ts-check
// Over the stage while there is no state to show, because the broker was killed or the engine paused on purpose: why,
// and what ends it.

import { html } from "htm/preact";
import { computed } from "@preact/signals";
import { brokenWords, Revive } from "../../common/fault_words.js";
import { faults } from "../../common/faults.js";
import { t } from "../../common/i18n.js";

export const isCovered = computed(() => faults.value.paused_ms > 0 || Boolean(faults.value.broken.broker_crashed));

export function Cover() {
  if (!isCovered.value) return null;
  const { paused_ms: paused } = faults.value;
  return html`<div class="stage-cover">
    <div class="panel stage-cover-box">
      <h2>${brokenWords()[0]}</h2>
      <p>${t(paused > 0 ? "faults.cover_paused" : "faults.cover_crashed")}</p>
      <${Revive} isPrimary=${true} />
    </div>
  </div>`;
}
