// @ts-check
// Entries of the journal that the stream did not bring: it sends the newest ones, and a fast run leaves gaps. They are
// fetched in pages when somebody looks at them, and kept for a while.

import { signal } from "@preact/signals";
import { run } from "../../common/world/session.js";
import { entryAt, entryOf, journalCut } from "../../common/world/view.js";

const PAGE = 200;
const PAGES_KEPT = 60;

/** Page number -> its entries; page 0 holds the numbers 1 to 200. The one that was used last is the last.
    @type {Map<number, import("../../common/world/view.js").Entry[]>} */
const pages = new Map();
/** Changes when entries came in or went. */
export const pagesVersion = signal(0);

/** @type {[first: number, last: number] | null} */
let request = null;
let isFetching = false;

journalCut.subscribe(({ number }) => {
  for (const page of [...pages.keys()]) if ((page + 1) * PAGE > number) pages.delete(page);
  pagesVersion.value += 1;
});

/** The entry with a number, from the stream or from a page, or undefined.
    @param {number} number */
export function knownEntry(number) {
  return entryAt(number) ?? pages.get(pageOf(number))?.[(number - 1) % PAGE];
}

/** Requests the unknown entries from `first` to `last`. Only the last request counts.
    @param {number} first @param {number} last */
export function wantEntries(first, last) {
  request = [first, last];
  if (!isFetching) fetchRequested();
}

async function fetchRequested() {
  isFetching = true;
  let served = request;
  const tried = new Set();
  try {
    for (;;) {
      if (served !== request) tried.clear();
      served = request;
      const page = served === null ? undefined : missingPage(served, tried);
      if (page === undefined) break;
      tried.add(page);
      const cut = journalCut.peek();
      const { entries } = await run.entries(page * PAGE, PAGE);
      if (cut === journalCut.peek()) keep(page, entries.map(entryOf));
    }
  } catch (error) {
    console.warn(`entries of the journal could not be fetched: ${error.message}`);
  } finally {
    isFetching = false;
  }
}

/** @param {number} number */
const pageOf = (number) => Math.floor((number - 1) / PAGE);

/** The first page with an entry that is wanted and not known; one that was tried and does not have it is passed over.
 *
 * @param {[first: number, last: number]} range @param {Set<number>} tried
 */
function missingPage([first, last], tried) {
  for (let number = Math.max(1, first); number <= last; number += 1) {
    if (!knownEntry(number) && !tried.has(pageOf(number))) return pageOf(number);
  }
  return undefined;
}

/** @param {number} page @param {import("../../common/world/view.js").Entry[]} entries */
function keep(page, entries) {
  pages.delete(page);
  pages.set(page, entries);
  while (pages.size > PAGES_KEPT) pages.delete(Number(pages.keys().next().value));
  pagesVersion.value += 1;
}
