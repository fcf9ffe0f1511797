// @ts-check
// The contents of the page's header: the state of the connection, the sections, and the controls of the view.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { faults } from "../../../common/faults.js";
import { t } from "../../../common/i18n.js";
import { goTo, SECTIONS } from "../../keys.js";
import { isAllowed } from "../../faults/table.js";
import {
  keyMapOpen,
  missedUpdates,
  motionWanted,
  paused,
  setMotion,
  setPaused,
  state,
} from "../../../common/cluster/view.js";

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

/**
 * Sections that only some brokers have.
 *
 * @type {[section: string, isThere: (state: Picture.LivePicture) => boolean][]}
 */
const OPTIONAL = [
  ["transactions", ({ transactions }) => Boolean(transactions)],
  ["delay-levels", ({ delay_levels: levels }) => Boolean(levels)],
  ["replication", ({ replication }) => Boolean(replication)],
  ["numbers", ({ numbers }) => Boolean(numbers)],
  [
    "dead-letters",
    ({ topics }) => Object.values(topics).some((topic) => topic.kind === "dlq" && (topic.queues["0"]?.max ?? 0) > 0),
  ],
];

export function Sections() {
  const optional = useComputed(() =>
    OPTIONAL.filter(([, isThere]) => isThere(state.value))
      .map(([section]) => section)
      .join(" "),
  );
  const extra = optional.value.split(" ").filter(Boolean);
  const [first, ...others] = SECTIONS.flatMap((section) => (section === "records" ? [...extra, section] : [section]));
  const shown = isAllowed ? [first, "faults", ...others] : [first, ...others];
  return html`
    ${shown.map(
      (section) =>
        html`<a
          key=${section}
          href=${`#${section}`}
          onClick=${(event) => {
            event.preventDefault();
            goTo(section);
          }}
        >
          ${t(`section.${section.replaceAll("-", "_")}`)}
        </a>`,
    )}
  `;
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
