// @ts-check
// Long lists of which only the rows in sight are in the document.

import { useLayoutEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";

/**
 * The rows of a scrolled list that are worth drawing: those in sight and a few around them.
 *
 * @param {number} scrollTop @param {number} height @param {number} rowHeight @param {number} rows
 */
export function rowsInSight(scrollTop, height, rowHeight, rows) {
  const first = Math.max(0, Math.min(rows, Math.floor(scrollTop / rowHeight)) - 8);
  return { first, end: Math.min(rows, Math.ceil((scrollTop + height) / rowHeight) + 8) };
}

/**
 * The box that scrolls, which of its rows are in sight, and what its scrolling calls.
 *
 * @param {number} rowHeight @param {number} rows
 */
export function useSight(rowHeight, rows) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const sight = useSignal({ top: 0, height: 400 });
  const look = () => {
    if (box.current) sight.value = { top: box.current.scrollTop, height: box.current.clientHeight };
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(look);
    if (box.current) observer.observe(box.current);
    look();
    return () => observer.disconnect();
  }, []);
  return { box, look, ...rowsInSight(sight.value.top, sight.value.height, rowHeight, rows) };
}
