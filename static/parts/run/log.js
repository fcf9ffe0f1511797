// @ts-check
// The event log: every event of the run in words, with a filter. Only the rows in sight are in the document, and what
// the stream left out of them is fetched when it comes in sight.

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { remPx } from "../../common/viewer/rem_px.js";
import { useSight } from "../../common/viewer/sight.js";
import { virtualTime } from "../../common/world/format.js";
import { knownEntry, pagesVersion, wantEntries } from "../journal/pages.js";
import { JournalSearch } from "../journal/search.js";
import { labelText } from "../../common/world/labels.js";
import { scrub } from "../../common/world/session.js";
import { Matters } from "../stage/sequence.js";
import { calmView, chosenEvent, journalVersion, nodeNames } from "../../common/world/view.js";
import { onlyRelevant } from "../../common/world/relevance.js";
import { Button } from "../controls/button.js";
import { SearchInput } from "../controls/choices.js";
import { Select } from "../panel/select.js";

const ROW_REM = 1.6;
/** A filter is applied after this pause in typing. */
const TYPED_MS = 250;

export function Log() {
  const typed = useSignal("");
  const text = useSignal("");
  const node = useSignal("");
  useEffect(() => {
    const timer = setTimeout(() => (text.value = typed.value.trim()), TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed.value]);
  const matters = onlyRelevant.value;
  const search = useSearch(text.value !== "" || node.value !== "" || matters, text.value, node.value, matters);
  const rows = search ? foundRows(search) : allRows();
  return html`<div class="event-log">
    <div class="panel-tools">
      <${SearchInput} of=${typed} id="log-filter" label=${t("lab.events.filter")} maxlength="100" />
      <${Select}
        value=${node.value} choose=${(name) => (node.value = name)} aria-label=${t("lab.events.node")}
        options=${[["", t("lab.until.any_node")], ...nodeNames.value]}
      />
      <${Matters} />
      <span class="quiet number" role="status">
        ${search ? foundText(search, rows.count) : t("lab.events.count", { n: rows.count })}
      </span>
    </div>
    ${search?.problem && html`<p class="problem" role="alert">${search.problem}</p>`}
    <${Rows} rows=${rows} isSearching=${search !== null && !search.isDone} />
  </div>`;
}

/** A search that runs while there is a filter, or null. */
function useSearch(isFiltered, text, node, matters) {
  const wanted = { text, node, matters: matters ? "yes" : "no" };
  const search = useMemo(() => (isFiltered ? new JournalSearch(wanted) : null), [isFiltered, text, node, matters]);
  useEffect(() => () => search?.close(), [search]);
  return search;
}

// Rows are a count, and what each shows: an entry, or only its number where it is not known (yet).

function allRows() {
  void [journalVersion.value, pagesVersion.value];
  return {
    count: calmView.value.event,
    at: (index) => knownEntry(index + 1) ?? { number: index + 1 },
    indexOf: (number) => number - 1,
  };
}

function foundRows(search) {
  void search.version.value;
  const last = calmView.value.event;
  let count = search.entries.length;
  while (count > 0 && search.entries[count - 1].number > last) count -= 1;
  return {
    count,
    at: (index) => search.entries[index],
    indexOf: (number) => search.entries.findIndex((entry) => entry.number === number),
  };
}

function foundText(search, count) {
  if (search.isFull) return t("lab.events.found_newest", { n: count });
  return search.isDone ? t("lab.events.found", { n: count }) : t("lab.events.searching", { count, low: search.low });
}

function Rows({ rows, isSearching }) {
  const isFollowing = useSignal(true);
  const followed = useRef(-1);
  const latest = useRef(rows);
  latest.current = rows;
  const rowHeight = ROW_REM * remPx.value;
  const { box, look, first, end } = useSight(rowHeight, rows.count);
  useLayoutEffect(() => {
    if (!isFollowing.value || followed.current === rows.count || !box.current) return;
    followed.current = rows.count;
    box.current.scrollTop = rows.count * rowHeight;
  });
  useEffect(() => chosenEvent.subscribe((number) => number !== null && reveal(number)), []);
  const reveal = (number) => {
    const at = latest.current.indexOf(number);
    const height = ROW_REM * remPx.peek();
    if (at < 0 || !box.current) return;
    const top = at * height;
    if (top < box.current.scrollTop || top > box.current.scrollTop + box.current.clientHeight - height)
      box.current.scrollTop = top - box.current.clientHeight / 2;
  };
  const scrolled = (event) => {
    const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
    look();
    isFollowing.value = scrollTop + clientHeight >= scrollHeight - 4;
  };
  const shown = Array.from({ length: Math.max(0, end - first) }, (_, index) => rows.at(first + index));
  const gap = shown.find((entry) => entry.actor === undefined)?.number;
  const last = shown.findLast((entry) => entry.actor === undefined)?.number;
  useEffect(() => {
    if (gap !== undefined) wantEntries(gap, last);
  }, [gap, last]);
  return html`<div
    class="log-rows"
    ref=${box}
    tabindex="0"
    role="group"
    aria-label=${t("lab.panel.log")}
    onScroll=${scrolled}
    onKeyDown=${(event) => walk(event, rows)}
  >
    ${
      rows.count === 0 &&
      html`<p class="panel-empty quiet">${t(isSearching ? "lab.events.searching_none" : "lab.no_match")}</p>`
    }
    <ol style=${{ height: `${rows.count * rowHeight}px` }}>
      ${shown.map(
        (entry, index) =>
          html`<${Row}
            key=${entry.number}
            entry=${entry}
            top=${(first + index) * rowHeight}
            chosen=${chosenEvent.value === entry.number}
          />`,
      )}
    </ol>
  </div>`;
}

function Row({ entry, top, chosen }) {
  const isKnown = entry.actor !== undefined;
  return html`<li
    class=${`log-row ${chosen ? "is-chosen" : ""}`}
    data-known=${isKnown ? "yes" : "no"}
    style=${{ transform: `translateY(${top}px)` }}
    onClick=${() => (chosenEvent.value = entry.number)}
    onDblClick=${() => scrub(entry.number)}
  >
    <${Button}
      class="link-button number" tabindex="-1" onClick=${() => scrub(entry.number)} title=${t("lab.invariants.jump")}
    >
      #${entry.number}
    </${Button}>
    ${
      isKnown
        ? html`
          <span class="number quiet">${virtualTime(entry.time)}</span>
          <span class="mono ellipsis" title=${entry.actor}>${entry.actor}</span>
          <span class="ellipsis" title=${labelText(entry.label)}>${labelText(entry.label)}</span>
        `
        : html`<span class="quiet">…</span>`
    }
  </li>`;
}

function walk(event, rows) {
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (event.target !== event.currentTarget) return;
  const chosen = chosenEvent.peek();
  if (event.key === "Enter" && chosen !== null) scrub(chosen);
  else if (by && rows.count > 0) {
    const at = chosenEvent.peek() === null ? -1 : rows.indexOf(chosenEvent.peek());
    chosenEvent.value = rows.at(at < 0 ? rows.count - 1 : Math.min(Math.max(at + by, 0), rows.count - 1)).number;
  } else return;
  event.preventDefault();
}
