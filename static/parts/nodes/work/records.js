// @ts-check
// Records of idempotence, wherever they are stored: their owners, their state, and how long they still count.

import { html } from "htm/preact";
import { t } from "../../../common/i18n.js";
import { acting } from "../../actions/thing.js";
import { span } from "../../../common/world/format.js";
import { view } from "../../../common/world/view.js";
import { Bar } from "../../lane/bar.js";
import { KeyRow, Rows } from "../rows.js";

const MOST_ROWS = 3;
const LONG_KEY = 20;

/** Unique ids differ at their ends. */
export const shortKey = (key) => (key.length > LONG_KEY ? `…${key.slice(-6)}` : key);

/** `rows` as app/lab/views/work_view.py has them; in Redis some are not records. `node`: where they are stored. */
export function Records({ rows, node, label, more = 0 }) {
  return html`<${Rows}
    class="work-rows" data-part="records" label=${label} most=${MOST_ROWS} total=${more}
    rows=${rows.map((row) => html`<${Row} key=${`${row.scope} ${row.key}`} row=${row} node=${node} />`)}
  />`;
}

function Row({ row, node }) {
  if (row.value !== undefined)
    return html`<li class="work-row" title=${`${row.key}: ${row.value}`}>
      <span class="ellipsis mono">${row.key}</span><span class="ellipsis mono quiet">${row.value}</span>
      <${TimeLeft} row=${row} />
    </li>`;
  const isDone = row.state === "consumed";
  const kind = row.is_lock ? "lock" : isDone ? "done" : row.by ? "taken" : "left";
  const text = t(`lab.work.record_${kind}`, { key: row.key, by: row.by, owner: row.owner });
  const whose = [row.scope, row.owner && `${t("lab.work.owner")} ${row.owner}…`, row.message_id];
  return html`<${KeyRow}
    of=${row.key} class=${`work-row ${row.is_open ? "is-open" : ""}`} data-record-key=${row.key} data-state=${kind}
    title=${[text, ...whose].filter(Boolean).join("\n")}
  >
    <button class="work-key ellipsis" ...${acting("idempotence-record", { node, scope: row.scope, key: row.key })}>
      ${shortKey(row.key)}
    </button>
    <span class=${`work-state work-${kind}`}>
      ${t(row.is_open ? "lab.work.uncommitted" : `lab.work.state_${kind}`)}${!isDone && row.by ? ` ${row.by}` : ""}
      <span class="sr-only"> ${text}</span>
    </span>
    <${TimeLeft} row=${row} />
  </${KeyRow}>`;
}

/** Reads the time, so it is drawn again whenever time passes. */
function TimeLeft({ row: { expires_us: expires, taken_us: taken, replica_us: replica, is_open: isOpen } }) {
  const now = view.value.time_us;
  const [left, whole] = [Math.max(0, expires - now), expires - (taken ?? 0)];
  if (replica > now)
    return html`<span class="work-time">
      <span class="badge badge-warning" title=${t("lab.work.replica_hint", { time: span(replica - now) })}>
        ${t("lab.work.replica")}
      </span>
    </span>`;
  if (isOpen || expires === null) return html`<span></span>`;
  const text = left > 0 ? duration(left) : t("word.expired");
  return html`<span class="work-time">
    <${Bar} left=${left} whole=${whole} label=${t("lab.work.expires", { time: duration(left) })} />
    <span class="number quiet">${text}</span>
  </span>`;
}

/** @type {[number, string][]} */
const UNITS = [
  [86_400_000_000, "d"],
  [3_600_000_000, "h"],
  [60_000_000, "min"],
  [1_000_000, "s"],
];

/** "3 d", "9.9 min", "85 ms": as long as records live. */
function duration(us) {
  const [size, unit] = UNITS.find(([each]) => us >= 0.9995 * each) ?? [0, ""];
  return size ? `${+(us / size).toFixed(1)} ${unit}` : span(us);
}
