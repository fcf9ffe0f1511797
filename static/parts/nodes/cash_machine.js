// @ts-check
// A customer at the cash machine of a bank: the last answer, or how long the wait has lasted.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { span } from "../../common/world/format.js";
import { view } from "../../common/world/view.js";

/** `part` is the view's: see app/lab/views/money/xa_nodes_view.py. Reads the time while somebody waits. */
export function CashMachine({ part }) {
  const last = part.ended.at(-1);
  const isWaiting = part.since_us !== null && part.holder;
  const text = isWaiting
    ? t("lab.cash.waits", { time: span(view.value.time_us - part.since_us), holder: part.holder })
    : !last
      ? t("lab.none_yet")
      : last.balance === null
        ? t("word.timed_out")
        : t("lab.cash.balance", { balance: count(last.balance) });
  return html`<p
    class=${`node-line cash-machine ${isWaiting || last?.balance === null ? "is-waiting" : ""}`}
    data-part="cash-machine"
    title=${t("lab.cash.hint")}
  >
    <span class="cash-sign" aria-hidden="true"></span><span class="quiet">${t("lab.cash.title")}</span> ${text}
  </p>`;
}
