// @ts-check
// The active faults of the running engine, in words, and the button that restarts what has stopped.

import { html } from "htm/preact";
import { activeRules, command, faults } from "./faults.js";
import { t } from "./i18n.js";

const NAME_SERVER = "name-server";

/** The active faults in words, the most severe first. Reads signals. */
export function brokenWords() {
  const { broken, broker: name, held_count: held, delayed_count: delayed, paused_ms: paused } = faults.value;
  if (paused > 0) return [t("faults.is.paused", { n: Math.ceil(paused / 1000) })];
  return [
    broken.broker_crashed && t("faults.is.crashed", { name }),
    broken.name_server_crashed && t("faults.is.crashed", { name: t("live.stage.name_server") }),
    held > 0 && t("faults.is.held", { n: held }),
    delayed > 0 && t("faults.is.delayed", { n: delayed }),
    activeRules.value.length > 0 && t("faults.is.rules", { n: activeRules.value.length }),
    broken.disk_full && t("faults.is.disk_full"),
    broken.flushes_fail && t("faults.is.flushes_fail"),
    broken.flush_ms > 0 && t("faults.is.flush_ms", { n: broken.flush_ms }),
    broken.broker_lock_off && t("faults.is.lock_off"),
    broken.groups_off.length > 0 && t("faults.is.groups_off", { groups: broken.groups_off.join(", ") }),
  ].filter(Boolean);
}

/** The action that restarts or resumes what has stopped; nothing where all runs. Reads signals. */
export function Revive({ isPrimary = false }) {
  const { broken, broker, paused_ms: paused } = faults.value;
  /**
   * @param {string} key
   * @param {() => void} act
   */
  const button = (key, act) =>
    html`<button type="button" class=${`button ${isPrimary ? "button-primary" : ""}`} data-revive=${key} onClick=${act}>
      ${t(`faults.revive.${key}`)}
    </button>`;
  if (paused > 0) return button("resume", () => command("resume", broker));
  if (broken.broker_crashed) return button("broker", () => command("restart", broker));
  if (broken.name_server_crashed) return button("name_server", () => command("restart", NAME_SERVER));
  return null;
}
