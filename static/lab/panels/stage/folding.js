// What of the stage is drawn large, and what as a line: a scenario names the parts that it is about (`focus`), a person
// opens and closes what he likes, and nodes that only stand by are a line until then.

import { computed, signal } from "@preact/signals";
import { accused, nodes, view } from "../../view.js";

/** How large the stage is drawn: pixels on the screen per pixel of its own. */
export const stageScale = signal(1);

/** What a person opened (true) or closed (false) by hand, by name. */
const nodesByHand = signal({});
const partsByHand = signal({});

const focus = computed(() => new Set(view.value.focus));

/** A name server says little, unless the scenario is about routes or something is the matter with it; a machine whose
    process never ran has nothing to say. */
const standsBy = (name) => {
  const node = nodes.value[name];
  if (node?.status === "off" && !node.has_run && !node.bank) return true;
  if (node?.role !== "name_server") return false;
  return node.status === "running" && !node.held?.length && !focus.value.has("routes") && !accused.value.has(name);
};

/** Whether a node is drawn as one line. */
export const isFolded = (name) => !(nodesByHand.value[name] ?? !standsBy(name));

/** Whether a part of the cards, one of engine/lab/scenario/scenario_stage.py, is drawn large. */
export const isFocus = (part) => partsByHand.value[part] ?? (focus.value.size === 0 || focus.value.has(part));

export const toggleNode = (name) => (nodesByHand.value = { ...nodesByHand.peek(), [name]: isFolded(name) });
export const togglePart = (part) => (partsByHand.value = { ...partsByHand.peek(), [part]: !isFocus(part) });
export const openPart = (part) => isFocus(part) || togglePart(part);
