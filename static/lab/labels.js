// The engine names events and tasks in English; here they are in the page's language.

import { language } from "../common/i18n.js";
import { labData } from "./commands.js";

/** What happened or what a task is called, for people; unknown names stay as they are. */
export function labelText(label) {
  if (language !== "zh" || !label) return label;
  const table = labData.labels ?? {};
  if (table[label] !== undefined) return table[label];
  const [first] = label.split(" ", 1);
  const command = labData.commands?.[first];
  if (command) return `${command.name.zh}${label.slice(first.length)}`;
  const begin = Object.keys(table).find((name) => name.endsWith(" ") && label.startsWith(name));
  return begin === undefined ? label : `${table[begin]}${label.slice(begin.length)}`;
}
