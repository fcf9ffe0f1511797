// @ts-check
// The bank on a client's node: the account, the local transaction that is open and what of it is not visible to others
// yet, and the newest rows of its table. While no process runs: what is on the disk.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { span } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";
import { acting } from "../actions/thing.js";
import { isFocus } from "../stage/folding.js";
import { Icon } from "../controls/icons.js";
import { pointing } from "../../common/viewer/pointed.js";
import { view } from "../../common/world/view.js";
import { PartName } from "./part.js";
import { keepsRoom } from "./room.js";
import { KeyRow, newest } from "./rows.js";

/** Rows of a card; the panel "Money" has more. */
const MOST_ROWS = 5;
const MOST_REFUSED = 3;
const SIGNS = { debit: "−", credit: "+", check: "?" };

/** `part` is the view's: see app/lab/views/money/bank_view.py. */
export const Bank = memo(({ part, node }) => {
  const isOpen = isFocus("bank");
  const pays = part.way !== null;
  const uncommitted =
    part.balance !== null && part.balance !== part.committed_balance ? part.balance - part.committed_balance : 0;
  return html`<section
    class=${`bank ${part.is_locked ? "is-locked" : ""} ${isOpen ? "" : "is-line"}`}
    data-part="bank"
    ref=${keepsRoom}
    aria-label=${t("lab.bank.label", { bank: part.name, account: part.account })}
  >
    <div class="bank-head">
      <h3><${PartName} part="bank">${part.name}</${PartName}></h3>
      <span class="quiet">${t("lab.bank.account")} <strong>${part.account}</strong></span>
      <span class="bank-balance number" title=${t("lab.bank.committed_hint")}>${count(part.committed_balance)}</span>
    </div>
    ${
      pays
        ? isOpen && html`<p class="bank-way quiet">${t(`lab.bank.way_${part.way.replaceAll("-", "_")}`)}</p>`
        : html`<p class="bank-way"><${Idempotence} isOn=${part.idempotent} node=${node} /></p>`
    }
    ${
      uncommitted !== 0 &&
      html`<p class="bank-uncommitted" title=${t("lab.bank.uncommitted_hint")}>
        <span class="bank-hatch" aria-hidden="true"></span>
        ${t("lab.work.uncommitted")}:${" "}
        <span class="number">${signed(uncommitted)}</span> → <span class="number">${count(part.balance)}</span>
      </p>`
    }
    ${
      part.is_locked &&
      part.way !== "two-phase-commit" &&
      html`<p class="bank-locked">
        <${Icon} name="lock" /> ${t("lab.bank.locked")}
        ${
          part.waiters.length > 0 &&
          html` <span class="badge badge-warning" title=${part.waiters.join(", ")}>
              ${t("lab.waiting", { n: part.waiters.length })}
            </span>
          `
        }
      </p>`
    }
    ${
      isOpen &&
      part.open.length > 0 &&
      html`<ul class="work-rows" aria-label=${t("lab.bank.open")}>
        ${part.open.map((action) => html`<${Open} key=${`${action.doing} ${action.key}`} action=${action} />`)}
      </ul>`
    }
    ${
      isOpen &&
      html`<ul class="work-rows" aria-label=${t(pays ? "lab.bank.rows_debits" : "lab.bank.rows_credits")}>
      ${part.rows.length === 0 && html`<li class="quiet">${t("lab.none_yet")}</li>`}
      ${newest(part.rows, MOST_ROWS).map(
        (row) => html`<${Row} key=${row.key} row=${row} isDebit=${row.doing ? row.doing === "debit" : pays} />`,
      )}
      ${newest(part.refused, MOST_REFUSED).map(
        (one) => html`<${Refused} key=${`${one.key} ${one.time_us}`} one=${one} />`,
      )}
    </ul>`
    }
    ${
      part.duplicates_ignored > 0 &&
      html`<p class="quiet">${t("lab.bank.duplicates", { n: part.duplicates_ignored })}</p>`
    }
  </section>`;
});

/** Whether a transfer that comes twice is credited twice: a switch of the node. */
function Idempotence({ isOn, node }) {
  const text = t(isOn ? "lab.bank.idempotent" : "lab.bank.not_idempotent");
  return html`<button
    class=${`pill ${isOn ? "is-free" : "is-off"}`}
    ...${acting("lock", { name: "idempotent-consumer", node })}
    data-lock-switch="idempotent-consumer"
    title=${text}
  >
    ${text}
  </button>`;
}

const signed = (amount) => `${amount < 0 ? "−" : "+"}${count(Math.abs(amount))}`;

function Open({ action }) {
  const spent = span(view.value.time_us - action.since_us);
  return html`<li
    class="work-row bank-row is-running"
    ...${pointing(action.key)}
    title=${t(`lab.bank.doing_${action.doing}`, { key: action.key })}
  >
    <span class="call-sign" aria-hidden="true"></span>
    <span class="ellipsis">${t(`lab.bank.doing_${action.doing}`, { key: action.key })}</span>
    <span class="number">${spent}</span>
  </li>`;
}

function Row({ row, isDebit }) {
  const isOpen = row.state === "open";
  const text = t(isOpen ? "lab.bank.row_open" : "lab.bank.row_committed", { key: row.key });
  return html`<${KeyRow}
    of=${row.key} class=${`work-row bank-row ${isOpen ? "is-open" : ""}`} data-transfer=${row.key} title=${text}
  >
    <span aria-hidden="true">${isOpen ? "…" : "✓"}</span>
    <span class="ellipsis">${row.key}<span class="sr-only"> ${text}</span></span>
    <span class="number">
      ${row.times > 1 && html`<span class="badge badge-bad">×${row.times}</span> `}
      ${signed(isDebit ? -row.amount : row.amount)}
    </span>
  </${KeyRow}>`;
}

function Refused({ one }) {
  const reason = t(`lab.bank.reason_${one.reason.replaceAll("-", "_")}`);
  return html`<li
    class="work-row bank-row is-refused"
    ...${pointing(one.key)}
    title=${`${one.key}: ${SIGNS[one.doing]}${count(one.amount)} · ${reason}`}
  >
    <span aria-hidden="true">✕</span><span class="ellipsis">${one.key}</span><span>${reason}</span>
  </li>`;
}
