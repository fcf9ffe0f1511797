// @ts-check
// What components watch while they are in the document: rows in sight, widths, and what was asked for.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
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

/**
 * The ref of an element whose width goes to `take`.
 *
 * @param {(width: number) => void} take
 * @returns {{ current: any }}
 */
export function useWidth(take) {
  const place = useRef(/** @type {any} */ (null));
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([{ contentRect }]) => take(contentRect.width));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return place;
}

/**
 * Asks again when `key` changes; null: there is nothing to ask for.
 *
 * @template Key
 * @param {Key | null} key
 * @param {(key: Key) => Promise<any>} ask
 * @param {string} [nothing] The problem when nothing was found.
 * @returns {{ found?: any, problem?: string }}
 */
export function useFound(key, ask, nothing) {
  const answer = useSignal(/** @type {{ found?: any, problem?: string }} */ ({}));
  useEffect(() => {
    answer.value = {};
    if (key === null) return undefined;
    let isWanted = true;
    ask(key).then(
      (found) => isWanted && (answer.value = found ? { found } : { problem: nothing }),
      (error) => isWanted && (answer.value = { problem: error.message }),
    );
    return () => (isWanted = false);
  }, [key]);
  return key === null ? {} : answer.value;
}
