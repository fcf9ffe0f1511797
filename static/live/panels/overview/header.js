// @ts-check
// The contents of the page's header: the state of the connection and the controls of the view.

import { html } from "htm/preact";
import { faults } from "../../../common/faults.js";
import { t } from "../../../common/i18n.js";
import { paused } from "../../../common/viewer/paused.js";
import { missedUpdates, setPaused } from "../../../common/cluster/view.js";
import { KeysButton, MotionToggle, Toggle } from "../../../parts/controls/view_buttons.js";

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

export const Controls = () =>
  html`<${Toggle} name="pause" isOn=${paused.value} set=${setPaused} />
    <${MotionToggle} hint=${`${t("controls.motion_hint")} (m)`} /><${KeysButton} />`;
