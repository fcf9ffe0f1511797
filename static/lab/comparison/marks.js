// @ts-check
// Marks on the stage what differs in the world next to it: nodes and queues get a dashed line and a sign.

import { effect, signal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { nodes } from "../../common/world/view.js";

/** { node: [queues that differ, or nothing] } */
const marks = signal(/** @type {Record<string, string[]>} */ ({}));

/** @param {Record<string, string[]>} next */
export const showMarks = (next) => (marks.value = next);

const ATTRIBUTE = "data-differs";

function put() {
  const wanted = new Map();
  for (const [name, queues] of Object.entries(marks.peek())) {
    const card = document.querySelector(`#stage [data-node="${CSS.escape(name)}"]`);
    if (!card) continue;
    wanted.set(card, t("lab.pair.differs"));
    for (const queue of queues)
      for (const row of card.querySelectorAll(`[data-queue="${CSS.escape(queue)}"]`))
        wanted.set(row, t("lab.pair.differs"));
  }
  for (const old of document.querySelectorAll(`[${ATTRIBUTE}]`)) if (!wanted.has(old)) old.removeAttribute(ATTRIBUTE);
  for (const [element, text] of wanted) element.setAttribute(ATTRIBUTE, text);
}

// Cards are drawn after the signals have changed, and a card that is drawn again has lost its mark.
effect(() => {
  void (marks.value, nodes.value);
  requestAnimationFrame(put);
});
