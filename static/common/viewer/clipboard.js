// @ts-check
// Copying a text.

/**
 * False where the browser has no clipboard for us: a page that came by plain http from another machine.
 *
 * @param {string} text
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
