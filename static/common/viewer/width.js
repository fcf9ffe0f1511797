// @ts-check
// How wide an element is, measured whenever that changes.

import { useLayoutEffect, useRef } from "preact/hooks";

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
