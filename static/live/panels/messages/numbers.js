// @ts-check
// The numbers that producers give their messages: which are missing among those stored, which are there twice. There
// only once somebody numbers.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { count, rangesText } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { state } from "../../../common/cluster/view.js";
import { TopicMark } from "../../../parts/lane/marks.js";
import { Panel } from "../../../parts/panel/panel.js";
import { ScrollingTable } from "../../../parts/panel/table.js";

const COUNTS = ["stored", "missing", "unknown", "refused", "open", "twice", "out_of_order"];
const BAD = ["missing", "unknown", "twice", "out_of_order"];
const HINTED = ["unknown", "refused", "open"];
/** Said below the table: of the whole part, and of all its topics together. */
const NOTES = ["unread", "omitted", "no_room"];
const NOTES_OF_TOPICS = ["unseen", "forgotten"];

export function Numbers() {
  const part = useComputed(() => state.value.numbers).value;
  if (!part) return null;
  const hint = { seconds: part.settling_ms / 1000 };
  const columns = [
    "field.topic",
    "lab.role.producer",
    ["live.numbers.line", "numbers-line-head"],
    ...COUNTS.map((name) => ({ text: t(`live.numbers.${name}`), class: "number", title: hintOf(name, hint) })),
    "live.numbers.groups",
  ];
  return html`<${Panel} id="numbers" title=${t("live.numbers.title")} hint=${t("live.numbers.hint")}>
    <${ScrollingTable} of="numbers" kind="numbers-table" caption=${t("live.numbers.title")} columns=${columns}>
      ${Object.entries(part.topics).flatMap(([name, topic]) =>
        topic.producers.map(
          (row, index) =>
            html`<${Row} key=${`${name} ${row.producer}`} ...${{ name, topic, row }} isFirst=${index === 0} />`,
        ),
      )}
    </${ScrollingTable}>
    ${notesOf(part).map(
      ([name, n]) =>
        n > 0 && html`<p key=${name} class="panel-note quiet">${t(`live.numbers.${name}`, { n: count(n) })}</p>`,
    )}
  </${Panel}>`;
}

const notesOf = (part) => {
  const topics = Object.values(part.topics);
  const sum = (name) => topics.reduce((total, topic) => total + topic[name], 0);
  return [...NOTES.map((name) => [name, part[name]]), ...NOTES_OF_TOPICS.map((name) => [name, sum(name)])];
};

const hintOf = (name, values) => (HINTED.includes(name) ? t(`live.numbers.${name}_hint`, values) : undefined);

function Row({ name, topic, row, isFirst }) {
  return html`<tr data-topic=${name} data-producer=${row.producer}>
    <th scope="row">
      ${isFirst ? html`<${TopicMark} topic=${name} /> ${name}` : html`<span class="sr-only">${name}</span>`}
    </th>
    <td class="numbers-producer" title=${row.producer}>
      ${row.producer} ${row.has_ended && html`<span class="badge">${t("live.numbers.ended")}</span>`}
    </td>
    <td><${Line} row=${row} /></td>
    ${COUNTS.map(
      (column) =>
        html`<td key=${column} class=${`number ${looksOf(column, row[column])}`}>
          ${count(row[column])}
        </td>`,
    )}
    <td>
      ${
        isFirst &&
        Object.entries(topic.groups).map(
          ([group, passed]) =>
            html`<div key=${group} class="number">
              ${t("live.numbers.group", { group, n: count(passed), all: count(topic.read) })}
            </div>`,
        )
      }
    </td>
  </tr>`;
}

const looksOf = (column, value) => (value === 0 ? "quiet" : BAD.includes(column) ? "numbers-bad" : "");

/** All numbers as a line, each gap a mark on it, at least so wide that it can be seen. */
function Line({ row }) {
  const { first } = row;
  const whole = Math.max(1, row.numbered);
  const label = labelOf(row);
  return html`<svg class="numbers-line" role="img" aria-label=${label} viewBox="0 0 100 8" preserveAspectRatio="none">
    <title>${label}</title>
    <rect class="numbers-met" x="0" y="2" width="100" height="4" />
    ${[...row.ranges, ...row.unknown_ranges].map(([from, to]) => {
      const width = Math.max(1, (100 * (to - from + 1)) / whole);
      const x = Math.min(100 - width, (100 * (from - first)) / whole);
      return html`<rect key=${from} class="numbers-gap" x=${x} y="0" width=${width} height="8" />`;
    })}
  </svg>`;
}

function labelOf(row) {
  const parts = [];
  if (row.missing > 0) parts.push(t("live.numbers.line_gaps", { ranges: rangesText(row.ranges) }));
  if (row.unknown > 0) parts.push(t("live.numbers.line_unknown", { ranges: rangesText(row.unknown_ranges) }));
  if (parts.length > 0) return parts.join(t("verdict.separator"));
  return t(row.stored === row.numbered ? "live.numbers.line_whole" : "live.numbers.line_judged");
}
