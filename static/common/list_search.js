// @ts-check
// The search of a page that is a list: shows the rows with every word that is typed. A module of the server, loaded
// when the search is first used, has all words by which each row may be found, in both languages; without it, rows are
// found by what they show. The address keeps the search (?q=).

import { elementOf, targetOf } from "./elements.js";
import { t } from "./i18n.js";

/**
 * @param {string} address
 * @returns {Promise<Record<string, string>>}
 */
const loadWords = (address) =>
  import(address).then(
    (words) => words.default,
    () => ({}),
  );

/**
 * @typedef {object} Choice Another way to narrow the list; the page calls the returned function after a change of it.
 * @property {(row: HTMLElement) => boolean} isChosen Whether it takes a row.
 * @property {() => boolean} hasChoice Whether there is one.
 * @property {() => void} dropChoice
 * @property {(isNarrow: boolean) => void} after Called when rows were shown and hidden.
 *
 * Makes the page's search field search `rows`.
 *
 * @param {HTMLElement[]} rows
 * @param {(row: HTMLElement) => string} nameOf The name of a row in that module.
 * @param {string} foundKey The text that says how many were found.
 * @param {Partial<Choice>} choice
 */
export function searchList(
  rows,
  nameOf,
  foundKey,
  { isChosen = () => true, hasChoice = () => false, dropChoice = () => {}, after = () => {} } = {},
) {
  const search = elementOf("search", HTMLInputElement);
  /** @type {Record<string, string> | null} */
  let wordsOf = null;

  async function narrow() {
    if (search.value) wordsOf ??= await loadWords(new URL(search.dataset.words ?? "", document.baseURI).href);
    const words = search.value.toLowerCase().split(/\s+/u).filter(Boolean);
    /** @param {HTMLElement} row */
    const textOf = (row) => wordsOf?.[nameOf(row)] ?? row.textContent.toLowerCase();
    for (const row of rows) row.hidden = !(words.every((word) => textOf(row).includes(word)) && isChosen(row));
    const isNarrow = words.length > 0 || hasChoice();
    const found = rows.filter((row) => !row.hidden).length;
    elementOf("found").textContent = isNarrow ? t(foundKey, { found, n: rows.length }) : "";
    elementOf("nothing").hidden = found > 0;
    const link = new URL(location.href);
    if (search.value) link.searchParams.set("q", search.value);
    else link.searchParams.delete("q");
    history.replaceState(history.state, "", link);
    after(isNarrow);
  }

  function showAll() {
    search.value = "";
    dropChoice();
    narrow();
    search.focus();
  }

  search.addEventListener("input", narrow);
  search.addEventListener("keydown", (event) => event.key === "Escape" && showAll());
  elementOf("show-all").addEventListener("click", showAll);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || targetOf(event)?.closest("input, select")) return;
    event.preventDefault();
    search.focus();
  });
  search.value = new URLSearchParams(location.search).get("q") ?? "";
  if (search.value) narrow();
  return narrow;
}
