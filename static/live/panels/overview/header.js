// @ts-check
// The contents of the page's header: the state of the connection and the controls of the view.

import { html } from "htm/preact";
import { faults } from "../../../common/faults.js";
import { t } from "../../../common/i18n.js";
import { motionWanted, setMotion } from "../../../common/viewer/motion.js";
import { keyMapOpen } from "../../../common/cluster/selection.js";
import { paused } from "../../../common/viewer/paused.js";
import { missedUpdates, setPaused } from "../../../common/cluster/view.js";

/** The connection banner: what the numbers on this page are worth right now. */
export function ConnectionState({ stream }) {
  const isGone = faults.value.broken.broker_crashed || faults.value.paused_ms > 0;
  const shown = paused.value ? "paused" : isGone ? "no_engine" : stream.status.value;
  const number = stream.sequence.value;
  return html`<div
    class=${`connection connection-${shown}`}
    id="connection"
    data-status=${shown}
    data-sequence=${number ?? ""}
    title=${t(`connection.${shown}_hint`)}
  >
    <span class="connection-sign" aria-hidden="true"></span>
    <span class="connection-text" role="status">${t(`connection.${shown}`)}</span>
    <span class="connection-number number" title=${t("connection.sequence_hint")}>
      ${number === null ? "" : `#${number}`}
    </span>
    ${
      paused.value &&
      html`<span class="connection-missed number">${t("connection.missed", { n: missedUpdates.value })}</span>`
    }
  </div>`;
}

export function Controls() {
  const toggle = (isOn, set, key) => html`<button
    type="button"
    class=${`button toggle toggle-${key}`}
    aria-pressed=${isOn}
    onClick=${() => set(!isOn)}
    title=${t(`controls.${key}_hint`)}
  >
    <span class="toggle-sign" aria-hidden="true"></span>${t(`controls.${key}`)}
  </button>`;
  return html`
    ${toggle(paused.value, setPaused, "pause")}${toggle(motionWanted.value, setMotion, "motion")}
    <button
      type="button"
      class="button"
      onClick=${() => (keyMapOpen.value = true)}
      aria-haspopup="dialog"
      title=${t("keys.open")}
    >
      <kbd aria-hidden="true">?</kbd><span class="sr-only">${t("keys.title")}</span>
    </button>
  `;
}
