// A command in a few words: "Broker lock off", "C1: pullBatchSize = 8", "Crash B1".

import { t } from "../../common/i18n.js";
import { commandName } from "../commands.js";
import { deedOf } from "./compare.js";

export function commandLine(done) {
  const { kind, target, ...values } = deedOf(done);
  if (kind === "lock-switch") {
    const name = t(`lab.explorer.switch_${values.lock.replaceAll("-", "_")}`);
    return [target && `${target}:`, t(values.on ? "lab.pair.on" : "lab.pair.off", { name })].filter(Boolean).join(" ");
  }
  if (kind === "setting") return `${target}: ${values.name} = ${values.value}`;
  return [commandName(kind), target, ...Object.values(values).filter((one) => typeof one !== "object")]
    .join(" ")
    .trim();
}
