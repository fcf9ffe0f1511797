// @ts-check
// What a promise found for something that is open, while it is open.

import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";

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
