// @ts-check
// Where the pages are: those of a server start at its root, as its addresses say. The site without a server, which
// may be in a folder of its host and has a folder for each language, puts a module of the same functions in this one's
// place.

/**
 * The address that a link to a page needs.
 *
 * @param {string} page It starts with "/".
 */
export const addressOf = (page) => page;

/**
 * The part of an address's path that names the page: "/lab/three-locks".
 *
 * @param {string} path
 */
export const pageOf = (path) => path;

/**
 * The address of this page in another language.
 *
 * @param {string} language
 */
export function inLanguage(language) {
  const address = new URL(location.href);
  address.searchParams.set("lang", language);
  return address;
}
