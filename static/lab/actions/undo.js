// @ts-check
// What takes a command back as long as its effect lasts: "on again" for a lock that is off, "mend" for a link.

import { t } from "../../common/i18n.js";
import { switchFacts } from "../../common/world/commands.js";
import { view } from "../../common/world/view.js";

/** @type {Record<string, string>} */
const MENDED_BY = {
  crash: "restart",
  "crash-power": "restart",
  "kill-consumer": "start-consumer",
  "stop-consumer": "start-consumer",
  "pause-node": "resume-node",
  "disk-full": "disk-free",
  partition: "heal",
  "link-delay": "heal",
};

/** { command, label }, or null: it has not been given, or is over by itself. Reads the view.
    @param {{ kind: string, target?: string, [field: string]: any }} command */
export function undoOf({ kind, target = "", ...values }) {
  const { faults, nodes } = view.value;
  /** @param {Picture.Fault} fault */
  const fits = (fault) => fault.kind === kind && (!target || fault.target === target);
  if (kind === "lock-switch") {
    const isOff = Object.entries(nodes).some(
      ([name, { switched_off: off = [] }]) => (!target || name === target) && off.includes(values.lock),
    );
    if (!isOff || values.on) return null;
    const label = t("lab.undo.on_again", { name: switchFacts(values.lock).title });
    return { command: { ...values, kind, target, on: true }, label };
  }
  const isStill =
    kind === "stop-consumer"
      ? nodes[target]?.status === "off" && nodes[target].has_run
      : faults.some(kind === "link-delay" || kind === "partition" ? (fault) => fault.kind === kind : fits);
  if (!(kind in MENDED_BY) || !isStill) return null;
  const mend = MENDED_BY[kind];
  return {
    command: { kind: mend, target: mend === "heal" ? "" : target },
    label: t(`lab.undo.${mend === "start-consumer" ? "restart" : mend}`, { name: target }),
  };
}
