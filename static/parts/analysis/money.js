// @ts-check
// The money between the banks: how much one has debited and the other has credited over virtual time, and for each
// transfer how long the two did not agree (the window of inconsistency).

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { span, virtualTime } from "../../common/world/format.js";
import { pointing } from "../../common/viewer/pointed.js";
import { accused, calmView } from "../../common/world/view.js";
import { MoneyPlot, showStretch } from "./money_plot.js";
import { Button } from "../controls/button.js";
import { Heads } from "../panel/heads.js";

const COLUMNS = ["transfer", "debited", "debited_at", "credited", "credited_at", "window"];

/** Below this windows are drawn on a straight scale, above on a logarithmic one: 20 ms and 5 s both are seen. */
const STRAIGHT_US = 500;
/** A stretch that the plot shows is never shorter. */
const STRETCH_LEAST_US = 4_000;

/** Key of the transfer that was chosen, or null. */
const chosen = signal(null);

export function Money() {
  const { money, time_us: now } = calmView.value;
  if (!money) return html`<p class="panel-empty quiet">${t("lab.money.no_banks")}</p>`;
  if (money.windows.length === 0) return html`<p class="panel-empty quiet">${t("lab.money.nothing_yet")}</p>`;
  const transfers = money.windows.map((window) => measured(window, now)).reverse();
  return html`<div class="money">
    <${Figures} money=${money} />
    <div class="money-parts">
      <${MoneyPlot} series=${money.series} now=${now} />
      <section class="money-transfers" aria-label=${t("lab.money.transfers")}>
        <${Bars} transfers=${transfers} />
        <${Table} transfers=${transfers} />
      </section>
    </div>
  </div>`;
}

/** A transfer's window: from when on, how long, whether it is still open, whether the money came from nowhere. */
function measured({ key, debited, credited, debited_us: out, credited_us: into }, now) {
  const isOpen = out === null || into === null;
  const [begin, end] = [Math.min(out ?? into, into ?? out), isOpen ? now : Math.max(out, into)];
  const isFromNowhere = out === null || (into !== null && into < out) || credited > debited;
  return {
    key,
    debited,
    credited,
    out,
    into,
    begin,
    end,
    length: Math.max(0, end - begin),
    isOpen,
    isFromNowhere,
    isTwice: out !== null && credited > debited,
  };
}

function Figures({ money }) {
  const figure = (name, value, sign = "") =>
    html`<div class=${`fact money-figure ${name === "nowhere" ? "is-bad" : ""}`} title=${t(`lab.money.${name}_hint`)}>
      <dt>
        ${sign && html`<span class=${`money-key money-key-${sign}`} aria-hidden="true"></span>`}
        ${t(`lab.money.${name}`)}
      </dt>
      <dd class="number">${value}</dd>
    </div>`;
  const length = (us) => (us === null ? "–" : span(us));
  return html`<dl class="money-figures">
    ${figure("debited", count(money.debited), "debited")}${figure("credited", count(money.credited), "credited")}
    ${figure("in_flight", count(money.in_flight), "way")}
    ${money.from_nowhere > 0 && figure("nowhere", count(money.from_nowhere), "nowhere")}
    ${figure("longest", length(money.longest_us))}
    ${figure("median", length(money.median_us))}
    ${figure("open", count(money.open_count))}
  </dl>`;
}

/** One bar per transfer: to the right as long as B waited for the money, to the left as long as it had too much. */
function Bars({ transfers }) {
  const most = Math.max(...transfers.map(({ length }) => length), 1_000);
  const place = (us) => Math.log1p(us / STRAIGHT_US) / Math.log1p(most / STRAIGHT_US);
  const hasNowhere = transfers.some(({ isFromNowhere }) => isFromNowhere);
  const [zero, room] = hasNowhere ? [50, 50] : [0, 100];
  return html`<ul class="money-bars">
    ${transfers.map((transfer) => {
      const { key, begin, end, length, isOpen, isFromNowhere, isTwice } = transfer;
      const width = Math.max(1, place(length) * room);
      const show = () => {
        chosen.value = key;
        const margin = Math.max(STRETCH_LEAST_US, length) / 2;
        showStretch(begin - margin, end + margin);
      };
      const name = `money-bar ${isFromNowhere ? "is-nowhere" : ""} ${isOpen ? "is-open" : ""}`;
      return html`<li key=${key}>
        <${Button}
          class=${`money-row ${accused.value.has(key) ? "is-accused" : ""}`} data-transfer=${key}
          aria-pressed=${chosen.value === key} onClick=${show} ...${pointing(key)}
          label=${`${key}: ${told(transfer)}`} title=${told(transfer)}
        >
          <span class="ellipsis">${key}</span>
          <span class="money-track" aria-hidden="true">
            ${hasNowhere && html`<span class="money-zero"></span>`}
            <span class=${name} style=${{ left: `${isFromNowhere ? zero - width : zero}%`, width: `${width}%` }}></span>
          </span>
          <span class="money-length number">
            ${
              isTwice
                ? html`<span class="badge badge-bad">+${count(transfer.credited - transfer.debited)}</span>`
                : `${isOpen ? "> " : ""}${span(length)}`
            }
          </span>
        </${Button}>
      </li>`;
    })}
  </ul>`;
}

/** What happened to a transfer, in a sentence. */
function told({ credited, debited, out, into, length, isTwice }) {
  const values = {
    out: virtualTime(out ?? 0),
    into: virtualTime(into ?? 0),
    length: span(length),
    more: count(credited - debited),
  };
  if (isTwice) return t("lab.money.says_twice", values);
  if (out === null) return t("lab.money.says_never_debited", values);
  if (into === null) return t("lab.money.says_waiting", values);
  return t(into < out ? "lab.money.says_credited_first" : "lab.money.says_done", values);
}

function Table({ transfers }) {
  const time = (us) => (us === null ? "–" : `${virtualTime(us)} s`);
  return html`<details class="money-table">
    <summary>${t("lab.money.table")}</summary>
    <table class="figure-table">
      <caption class="sr-only">${t("lab.money.transfers")}</caption>
      <${Heads} columns=${COLUMNS.map((name) => `lab.money.${name}`)} />
      <tbody>
        ${transfers.map(
          (one) => html`<tr key=${one.key}>
            <th scope="row">${one.key}</th>
            <td class="number">${count(one.debited)}</td>
            <td class="number">${time(one.out)}</td>
            <td class="number">${count(one.credited)}</td>
            <td class="number">${time(one.into)}</td>
            <td>
              ${one.isFromNowhere ? `${t("lab.money.nowhere")}, ` : ""}
              ${one.isOpen ? t("lab.money.still_open", { length: span(one.length) }) : span(one.length)}
            </td>
          </tr>`,
        )}
      </tbody>
    </table>
  </details>`;
}
