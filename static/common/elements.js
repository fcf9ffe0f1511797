// @ts-check
// Elements that the page's template has written: they are there before any module runs.

/**
 * The element with this id, of this class.
 *
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} [kind]
 * @returns {Kind}
 */
export function elementOf(id, kind = /** @type {new () => any} */ (HTMLElement)) {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new TypeError(`the page has no ${kind.name} #${id}`);
  return element;
}

/**
 * The element that an event came from; null where it came from none, such as the window.
 *
 * @param {Event} event
 */
export const targetOf = ({ target }) => (target instanceof Element ? target : null);

/**
 * Calls `take` with each file that is chosen, also with one that was chosen before this module was there.
 *
 * @param {HTMLInputElement} input
 * @param {(file: File) => Promise<unknown>} take
 */
export function onChosenFile(input, take) {
  async function chosen() {
    const file = input.files?.[0];
    if (!file) return;
    await take(file);
    input.value = ""; // so that the same file can be chosen again
  }
  input.addEventListener("change", chosen);
  chosen();
}

/**
 * The elements that a selector finds and that are of this class.
 *
 * @template {HTMLElement} Kind
 * @param {string} selector
 * @param {new () => Kind} [kind]
 * @param {ParentNode} [within]
 * @returns {Kind[]}
 */
export const allOf = (selector, kind = /** @type {new () => any} */ (HTMLElement), within = document) =>
  /** @type {Kind[]} */ ([...within.querySelectorAll(selector)].filter((element) => element instanceof kind));

/**
 * The first of them; the template has it.
 *
 * @template {HTMLElement} Kind
 * @param {string} selector
 * @param {new () => Kind} [kind]
 * @param {ParentNode} [within]
 * @returns {Kind}
 */
export function firstOf(selector, kind, within = document) {
  const [first] = allOf(selector, kind, within);
  if (!first) throw new TypeError(`the page has no ${selector}`);
  return first;
}
