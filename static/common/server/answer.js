// @ts-check
// An answer of the server that a component draws.

import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { get } from "../request.js";

/**
 * What the server answers at an address; {} until it does, and without an address. An answer that comes after the
 * address has changed is dropped.
 *
 * @param {string | null} address
 * @param {{ delayMs?: number, keepsLast?: boolean }} options `keepsLast`: the last answer is shown until the next one.
 */
export function useAnswer(address, { delayMs = 0, keepsLast = false } = {}) {
  const result = useSignal(/** @type {import("../request.js").Answered} */ ({}));
  useEffect(() => {
    if (!keepsLast) result.value = {};
    if (!address) return undefined;
    let isWanted = true;
    const ask = async () => {
      const answered = await get(address);
      if (isWanted) result.value = answered;
    };
    const timer = setTimeout(ask, delayMs);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [address]);
  return result.value;
}
