// The event log: every event of the run in words, with a filter. Only the rows in sight are in the document.

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { remPx } from "../../live/lane_axis.js";
import { virtualTime } from "../format.js";
import { scrub } from "../session.js";
import { calmView, chosenEvent, indexAfter, journal, journalVersion, nodeNames } from "../view.js";

const ROW_REM = 1.6;
const AROUND = 6;

export function Log() {
  const filter = useSignal("");
  const node = useSignal("");
  const sight = useSignal({ top: 0, height: 200 });
  const isFollowing = useSignal(true);
  const box = useRef(null);
  const shown = useComputed(() => filtered(journalVersion.value, calmView.value.event, node.value, filter.value.trim().toLowerCase()));
  const rowHeight = ROW_REM * remPx.value;
  useLayoutEffect(() => {
    const measure = () => (sight.value = { top: box.current.scrollTop, height: box.current.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const followed = useRef(-1);
  useLayoutEffect(() => {
    if (!isFollowing.value || followed.current === shown.value.length) return;
    followed.current = shown.value.length;
    box.current.scrollTop = shown.value.length * rowHeight;
  });
  useEffect(() => chosenEvent.subscribe((number) => number !== null && reveal(number)), []);
  const reveal = (number) => {
    const at = shown.peek().findIndex((entry) => entry.number === number);
    const height = ROW_REM * remPx.peek();
    if (at < 0 || !box.current) return;
    const top = at * height;
    if (top < box.current.scrollTop || top > box.current.scrollTop + box.current.clientHeight - height) box.current.scrollTop = top - box.current.clientHeight / 2;
  };
  const scrolled = (event) => {
    const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
    sight.value = { top: scrollTop, height: clientHeight };
    isFollowing.value = scrollTop + clientHeight >= scrollHeight - 4;
  };
  const rows = shown.value;
  const first = Math.max(0, Math.floor(sight.value.top / rowHeight) - AROUND);
  const end = Math.min(rows.length, Math.ceil((sight.value.top + sight.value.height) / rowHeight) + AROUND);
  return html`<div class="event-log"><div class="panel-tools"><input type="search" id="log-filter" value=${filter.value} placeholder=${t("lab.events.filter")} aria-label=${t("lab.events.filter")}
      onInput=${(event) => (filter.value = event.currentTarget.value)} />
    <select value=${node.value} aria-label=${t("lab.events.node")} onChange=${(event) => (node.value = event.currentTarget.value)}><option value="">${t("lab.until.any_node")}</option>
      ${nodeNames.value.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select>
    <span class="quiet number">${t("lab.events.count", { n: rows.length })}</span></div>
    <div class="log-rows" ref=${box} tabindex="0" role="group" aria-label=${t("lab.panel.log")} onScroll=${scrolled} onKeyDown=${(event) => walk(event, rows)}>
      ${rows.length === 0 && html`<p class="panel-empty quiet">${t("lab.events.none")}</p>`}
      <ol style=${{ height: `${rows.length * rowHeight}px` }}>${rows.slice(first, end).map((entry, index) => html`<${Row} key=${entry.number} entry=${entry} top=${(first + index) * rowHeight} chosen=${chosenEvent.value === entry.number} />`)}</ol></div></div>`;
}

const filtered = (_, lastEvent, node, text) => {
  const wanted = node || text ? (entry) => (!node || entry.node === node) && (!text || `${entry.actor} ${entry.label} #${entry.number}`.toLowerCase().includes(text)) : () => true;
  return journal.slice(0, indexAfter(lastEvent)).filter(wanted);
};

function Row({ entry, top, chosen }) {
  return html`<li class=${`log-row ${chosen ? "is-chosen" : ""}`} style=${{ transform: `translateY(${top}px)` }} onClick=${() => (chosenEvent.value = entry.number)} onDblClick=${() => scrub(entry.number)}>
    <button type="button" class="link-button number" tabindex="-1" onClick=${() => scrub(entry.number)} title=${t("lab.log.go")}>#${entry.number}</button><span class="number quiet">${virtualTime(entry.time)}</span>
    <span class="mono ellipsis" title=${entry.actor}>${entry.actor}</span><span class="ellipsis" title=${entry.label}>${entry.label}</span></li>`;
}

function walk(event, rows) {
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (event.target !== event.currentTarget) return;
  if (event.key === "Enter" && chosenEvent.peek() !== null) scrub(chosenEvent.peek());
  else if (by) {
    const at = rows.findIndex((entry) => entry.number === chosenEvent.peek());
    const entry = rows[at < 0 ? rows.length - 1 : Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (entry) chosenEvent.value = entry.number;
  } else return;
  event.preventDefault();
}
