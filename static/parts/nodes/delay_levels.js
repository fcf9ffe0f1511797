// @ts-check
// The delay levels on a broker's card.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";
import { worldClock } from "../../common/world/world_clock.js";
import { DelayLevels } from "../messages/delay_levels.js";
import { Part, Rule } from "./part.js";

export const DelayLevelsPart = memo(({ broker, part }) => {
  const waiting = part.levels.reduce((sum, level) => sum + level.waiting, 0);
  return html`<${Part}
    part="delay"
    name=${t("section.delay_levels")}
    summary=${html`<span class="quiet">${t("lab.waiting", { n: waiting })}</span>`}
    tools=${html`<${Rule} node=${broker} part="delay_levels" />`}
    class="delay-levels"
    data-part="delay-levels"
  >
    <${DelayLevels} part=${part} clock=${worldClock} />
  </${Part}>`;
});
