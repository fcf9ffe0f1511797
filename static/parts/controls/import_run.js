// @ts-check
// Takes an exported run from a file, chosen or dropped onto the page, and goes to the world that the server makes of
// it.

import { demand } from "../../common/request.js";
import { t } from "../../common/i18n.js";

/**
 * Sends a file to the server. Resolves never when all is well: the page is left. Rejects with a text for users.
 *
 * @param {File} file
 * @param {number} maxBytes
 */
export async function importRun(file, maxBytes) {
  // A body that is not read ends the connection before the answer is here: such a file is not sent at all.
  if (file.size > maxBytes) throw new Error(t("lab.error.import_too_long", { limit: maxBytes }));
  const answer = await demand("POST", "/api/lab/import", await file.arrayBuffer());
  location.assign(answer.address);
  return new Promise(() => {});
}

/**
 * Lets files be dropped anywhere on the page. Returns how to stop.
 *
 * @param {(file: File) => void} onFile Gets the first.
 * @param {(isOver: boolean) => void} onOver Says whether one is above the page.
 */
export function acceptDrops(onFile, onOver = () => {}) {
  /** @param {DragEvent} event */
  const hasFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  let depth = 0;
  /** @param {number} by */
  const over = (by) => {
    depth = Math.max(0, depth + by);
    onOver(depth > 0);
  };
  /** @type {Record<string, (event: DragEvent) => void>} */
  const listeners = {
    dragenter: () => over(1),
    dragleave: () => over(-1),
    dragover: (event) => event.preventDefault(),
    drop(event) {
      event.preventDefault();
      over(-depth);
      const [file] = event.dataTransfer?.files ?? [];
      if (file) onFile(file);
    },
  };
  const stop = new AbortController();
  for (const [type, listener] of Object.entries(listeners))
    addEventListener(type, (event) => event instanceof DragEvent && hasFile(event) && listener(event), {
      signal: stop.signal,
    });
  return () => stop.abort();
}
