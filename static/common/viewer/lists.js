// @ts-check
// Computed lists that change only when their elements do.

import { computed } from "@preact/signals";

/**
 * A list that keeps its identity while its elements stay the same, so that nothing renders needlessly.
 *
 * @template T
 * @param {() => T[]} make
 */
export function steadyList(make) {
  /** @type {T[]} */
  let last = [];
  return computed(() => {
    const next = make();
    if (next.length !== last.length || next.some((value, index) => value !== last[index])) last = next;
    return last;
  });
}
