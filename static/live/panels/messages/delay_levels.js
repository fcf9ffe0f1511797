// @ts-check
// The delay levels of the broker: where delayed messages and retries wait. There only once a message was delayed.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { brokerClock } from "../../../common/cluster/clock.js";
import { state } from "../../../common/cluster/view.js";
import { t } from "../../../common/i18n.js";
import { DelayLevels } from "../../../parts/messages/delay_levels.js";
import { Panel } from "../../../parts/panel/panel.js";

export function DelayLevelsPanel() {
  const part = useComputed(() => state.value.delay_levels).value;
  return (
    part &&
    html`<${Panel} id="delay-levels" title=${t("section.delay_levels")} hint=${t("live.delay.hint")}>
      <div class="group-details"><div><${DelayLevels} part=${part} clock=${brokerClock} /></div></div>
    </${Panel}>`
  );
}
