// @ts-check
// Half messages of the live broker: sent in a transaction and not decided yet, or decided since the last check; and
// those that were given up. There only while a broker has had such messages.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { brokerClock } from "../../../common/cluster/clock.js";
import { inspectedOffset } from "../../../common/cluster/selection.js";
import { state } from "../../../common/cluster/view.js";
import { t } from "../../../common/i18n.js";
import { TimeLeft } from "../../../parts/lane/bar.js";
import { halfName } from "../../../parts/messages/half_facts.js";
import { HalfMessages, undecided } from "../../../parts/messages/half_messages.js";
import { Panel } from "../../../parts/panel/panel.js";
import { Bolt } from "../../faults/bolt.js";
import { ActionButton, HalfActionDialog, HalfResult } from "./half_actions.js";

/** The rows that the server sends. */
const ALL = 1_000;

/** @type {import("../../../parts/messages/half_messages.js").HalfSource} */
const source = {
  open: ({ offset }) => ({ type: "button", onClick: () => (inspectedOffset.value = offset) }),
  act: (message) => html`<${Actions} message=${message} />`,
  pointing: () => ({}),
  isPointed: () => false,
  isWide: true,
  most: ALL,
};

export function Transactions() {
  const part = useComputed(() => state.value.transactions).value;
  if (!part) return null;
  const waiting = undecided(part).length;
  const head = html`
    <span class=${waiting > 0 ? "" : "quiet"}>${t("lab.half.undecided", { n: waiting })}</span>
    <span class="quiet">${t("live.half.hint")}</span>
  `;
  return html`<${Panel} id="transactions" title=${t("word.half_messages")} head=${head}>
    <div class="group-details half-messages">
      <${NextRound} part=${part} />
      <${HalfResult} />
      <div><${HalfMessages} part=${part} clock=${brokerClock} source=${source} /></div>
    </div>
    <${HalfActionDialog} part=${part} />
  </${Panel}>`;
}

function NextRound({ part }) {
  const left = Math.max(0, part.next_round_us - brokerClock.now());
  return html`<div class="fact" title=${t("live.half.round_hint")}>
    <span class="quiet">${t("live.half.round")}</span>
    <span class="timer half-round">
      <${TimeLeft} leftUs=${left} wholeMs=${part.check_interval_ms} clock=${brokerClock} label="live.half.due_in" />
    </span>
  </div>`;
}

function Actions({ message }) {
  if ("given_up_us" in message) return html`<${ActionButton} action="resume" message=${message} />`;
  if (message.decided_by !== null) return html`<span></span>`;
  return html`<span class="half-actions">
    <${ActionButton} action="commit" message=${message} />
    <${ActionButton} action="rollback" message=${message} />
    <${Bolt} kind="half" facts=${{ id: message.id, name: halfName(message) }} name=${halfName(message)} />
  </span>`;
}
