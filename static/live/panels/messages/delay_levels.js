// @ts-check
// The delay levels of the broker: where delayed messages and retries wait. There only once a message was delayed.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { brokerClock } from "../../../common/cluster/clock.js";
import { state } from "../../../common/cluster/view.js";
import { t } from "../../../common/i18n.js";
import { DelayLevels } from "../../../parts/messages/delay_levels.js";

export function DelayLevelsPanel() {
  const part = useComputed(() => state.value.delay_levels).value;
  return (
    part &&
    html`<section class="panel" id="delay-levels" tabindex="-1" aria-labelledby="delay-levels-title">
      <header class="panel-head">
        <h2 class="panel-title" id="delay-levels-title">${t("section.delay_levels")}</h2>
        <span class="quiet">${t("live.delay.hint")}</span>
      </header>
      <div class="group-details"><div><${DelayLevels} part=${part} clock=${brokerClock} /></div></div>
    </section>`
  );
}
