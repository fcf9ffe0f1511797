// @ts-check
// A command in a few words: "Broker lock off", "C1: pullBatchSize = 8", "Crash B1",
// "Drop a frame P1->B1 4.031 594 s".

import { t } from "../i18n.js";
import { commandName } from "./commands.js";
import { virtualTime } from "./format.js";
import { switchName } from "./labels.js";
import { actionOf } from "./compare.js";

/** @param {import("./compare.js").Command} done */
export function commandLine(done) {
  const { kind, target, ...values } = actionOf(done);
  if (kind === "lock-switch") {
    const name = switchName(values.lock);
    return [target && `${target}:`, t(values.on ? "lab.pair.on" : "lab.pair.off", { name })].filter(Boolean).join(" ");
  }
  if (kind === "setting") return `${target}: ${values.name} = ${values.value}`;
  const { due_us: due, index, ...others } = values;
  const which = due === undefined ? [] : [`${virtualTime(due)} s`, index > 0 && `#${index + 1}`].filter(Boolean);
  return [commandName(kind), target, ...which, ...Object.values(others).filter((one) => typeof one !== "object")]
    .join(" ")
    .trim();
}
