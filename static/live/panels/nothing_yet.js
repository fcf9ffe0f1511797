// @ts-check
// What to do at a broker that has no clients and no messages yet.

import { html } from "htm/preact";
import { glassmqCommand } from "../../common/cluster/lists.js";
import { t } from "../../common/i18n.js";
import { Command, Empty } from "../../parts/lane/marks.js";

export const SendCommand = () => html`<${Command} text=${glassmqCommand("send orders 'hello'")} />`;

export const HowToConsume = () =>
  html`<p>${t("live.consumers.none_next")}</p>
    <${Command} text=${glassmqCommand("consume orders --group billing")} />`;

export const NoConsumers = () => html`<${Empty} title=${t("live.consumers.none")}><${HowToConsume} /><//>`;
