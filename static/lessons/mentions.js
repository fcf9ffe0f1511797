// @ts-check
// Names in the text lead the eye: while the pointer is on `B1` or `hello-0`, that node or message is marked on the
// stage.

import { pointedKey } from "../common/viewer/pointed.js";

let marked = null;

/** For pointerover on the text; a word that names nothing marks nothing. */
export function markMentioned({ target }) {
  const name = target.closest("code")?.textContent ?? null;
  if (name === marked) return;
  unmarkMentioned();
  marked = name;
  if (name === null) return;
  const node = document.querySelector(`#stage [data-node="${CSS.escape(name)}"]`);
  if (node) node.classList.add("is-mentioned");
  else pointedKey.value = name;
}

export function unmarkMentioned() {
  if (marked !== null) pointedKey.value = null;
  marked = null;
  document.querySelectorAll(".is-mentioned").forEach((node) => node.classList.remove("is-mentioned"));
}
