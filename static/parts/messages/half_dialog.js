// @ts-check
// Deciding a half message of a lab broker by hand: the question, opened from its card.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { command } from "../../common/world/session.js";
import { openHalf, view } from "../../common/world/view.js";
import { worldClock } from "../../common/world/world_clock.js";
import { actionsOf } from "./half_facts.js";
import { HalfDialog } from "./half_question.js";

export function WorldHalfDialog() {
  const open = openHalf.value;
  const part = useComputed(() => view.value.nodes[openHalf.value?.broker ?? ""]?.transactions ?? undefined).value;
  /** What comes of it is seen in the world; a refusal is reported as that of any command. */
  const act = async (action, { id }, anyway) => {
    command(`${action}-half`, open?.broker, { message: id, ...(anyway ? { anyway } : {}) });
    return { why: "" };
  };
  return html`<${HalfDialog}
    open=${open ? { message: open.message, action: open.action ?? onlyOne(actionsOf(open.message)) } : null}
    part=${part}
    clock=${worldClock}
    source=${{ act, done: () => {} }}
    onClose=${() => (openHalf.value = null)}
  />`;
}

const onlyOne = (actions) => (actions.length === 1 ? actions[0] : null);
