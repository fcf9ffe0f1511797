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
