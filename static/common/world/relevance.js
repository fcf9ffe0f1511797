// @ts-check
// What is housekeeping and what matters, by the table of engine/lab/narration/relevance.py, and whether only that is
// shown: the choice is remembered.

import { effect, signal } from "@preact/signals";
import { keep, kept } from "../viewer/kept.js";
import { labData } from "./commands.js";

const KEY = "glassmq.lab.matters";
/** @type {{ tasks?: string[], labels?: string[], requests?: string[], refusals?: string[] }} */
const QUIET = labData.quiet ?? {};
const { tasks = [], labels = [], requests = [], refusals = [] } = QUIET;
const [quietLabels, quietRequests, loudReplies] = [new Set(labels), new Set(requests), new Set(refusals)];

export const onlyRelevant = signal(kept(KEY) !== "no");
effect(() => keep(KEY, onlyRelevant.value ? "yes" : "no"));

/**
 * Whether an entry of the journal says something about what the world is there for.
 *
 * @param {{ actor: string, label: string }} entry
 */
export function isEntryRelevant({ actor, label }) {
  if (quietLabels.has(label)) return false;
  const task = actor.slice(actor.indexOf("/") + 1);
  return !tasks.some((quiet) => task === quiet || (quiet.endsWith(" ") && task.startsWith(quiet)));
}

/**
 * The same of a frame; one that is lost, or refuses something for good, always does.
 *
 * @param {Picture.Frame} frame
 */
export function isFrameRelevant({ kind, name, reply_to_name: asked, dropped }) {
  if (dropped || (kind === "response" && loudReplies.has(name))) return true;
  return kind === "frame" || ((kind === "request" || kind === "response") && !quietRequests.has(asked ?? name));
}
