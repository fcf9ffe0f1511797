// The search of a page that is a list: shows the rows with every word that is typed. A module of the server, loaded
// when the search is first used, has all words by which each row may be found, in both languages; without it, rows are
// found by what they show. The address keeps the search (?q=).

import { t } from "./i18n.js";

const loadWords = (address) =>
  import(address).then(
    (words) => words.default,
    () => ({}),
  );

/**
 * Makes the page's search field search `rows`; `nameOf(row)`: its name in that module. `foundKey`: the text that says
 * how many were found.
 * A page that can be narrowed in another way says whether its choice takes a row (`isChosen`), whether there is one
 * (`hasChoice`) and how it ends (`dropChoice`); it calls the returned function after a change of it.
 * `after(isNarrow)` is called when rows were shown and hidden.
 */
export function searchList(
  rows,
  nameOf,
  foundKey,
  { isChosen = () => true, hasChoice = () => false, dropChoice = () => {}, after = () => {} } = {},
) {
  const search = document.getElementById("search");
  let wordsOf = null;

  async function narrow() {
    if (search.value) wordsOf ??= await loadWords(new URL(search.dataset.words, document.baseURI));
    const words = search.value.toLowerCase().split(/\s+/u).filter(Boolean);
    const textOf = (row) => wordsOf[nameOf(row)] ?? row.textContent.toLowerCase();
    for (const row of rows) row.hidden = !(words.every((word) => textOf(row).includes(word)) && isChosen(row));
    const isNarrow = words.length > 0 || hasChoice();
    const found = rows.filter((row) => !row.hidden).length;
    document.getElementById("found").textContent = isNarrow ? t(foundKey, { found, n: rows.length }) : "";
    document.getElementById("nothing").hidden = found > 0;
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
  document.getElementById("show-all").addEventListener("click", showAll);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, select")) return;
    event.preventDefault();
    search.focus();
  });
  search.value = new URLSearchParams(location.search).get("q") ?? "";
  if (search.value) narrow();
  return narrow;
}
