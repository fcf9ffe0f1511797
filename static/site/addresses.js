// @ts-check
// Where the pages of the site are: see static/common/addresses.js. They are files below the folder of the site, English
// ones in the folder itself, those of other languages in a folder of that name.

import { targetOf } from "../common/elements.js";

const ROOT = new URL("../../", import.meta.url).pathname;
const OTHER_LANGUAGES = ["zh"];
/** Where the pages of this page's language are, without the last slash. */
const PAGES = rootIn(document.documentElement.lang.slice(0, 2));
/** Only a server has these; pages say so where they lead. */
const ABSENT = /^\/(live|pipeline|lab\/wire|api\/(live|faults))(?![\w-])/;

/** @param {string} language */
function rootIn(language) {
  return OTHER_LANGUAGES.includes(language) ? `${ROOT}${language}` : ROOT.slice(0, -1);
}

/** @param {string} page */
export function addressOf(page) {
  const [, path, rest] = /** @type {RegExpExecArray} */ (/^([^?#]*)(.*)$/s.exec(page));
  if (path.startsWith("/static/")) return `${ROOT}${path.slice(1)}${rest}`;
  if (path.startsWith("/api/") && !ABSENT.test(path)) return page; // static/site/transport.js asks the worker
  if (ABSENT.test(path)) return `${PAGES}/needs-a-server/`;
  return `${PAGES}${path}${path.endsWith("/") ? "" : "/"}${rest}`;
}

/**
 * Whether an address is one of the site. Those of a server may begin as these do, but their pages have no slash at the
 * end.
 *
 * @param {string} href
 */
function isOwn(href) {
  const [path] = href.split(/[?#]/, 1);
  return path !== "/" && path.startsWith(ROOT) && (path.endsWith("/") || path.startsWith(`${ROOT}static/`));
}

/** @param {string} path */
export const pageOf = (path) => path.slice(PAGES.length).replace(/(index\.html|\/)$/, "") || "/";

/** @param {string} language */
export function inLanguage(language) {
  const address = new URL(location.href);
  address.pathname = `${rootIn(language)}${location.pathname.slice(PAGES.length)}`;
  return address;
}

/** Texts and scripts write links as a server has them: they are corrected before anybody can follow them.
    @param {Event} event */
function correct(event) {
  const link = targetOf(event)?.closest("a[href^='/']");
  const href = link?.getAttribute("href");
  if (href && !isOwn(href)) link?.setAttribute("href", addressOf(href));
}

for (const event of ["pointerover", "focusin", "click"]) addEventListener(event, correct, { capture: true });
