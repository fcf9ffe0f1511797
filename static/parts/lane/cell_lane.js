// @ts-check
// A lane as its newest entries, a cell with the offset for each. Above them each group has a track of its own for its
// flag, so that no two cover each other; a flag that belongs before all that is drawn says its offset at the left edge.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";
import { topicMark } from "../../common/palette.js";
import { Roving } from "../../common/roving.js";
import { shortOffset } from "../../common/world/format.js";
import { cellRow } from "./cell_row.js";
import { exactLag, laneWords, ShortLag } from "./lag_words.js";
import { GroupMark } from "./marks.js";

/** @param {import("./lane.js").DrawnLane} props */
export function CellLane({ topic, queueId, queue, readers, name, mark, source, most = Infinity }) {
  const { entries, older, readTo, flags } = cellRow(queue, readers, most);
  return html`<div
    class=${`queue ${mark}`}
    data-queue=${name}
    style=${{ "--tracks": Math.max(1, flags.length), "--entries": Math.max(5, entries.length) }}
  >
    <span class="queue-name">Q${queueId}</span>
    <${Roving} class="cells" role="group" aria-label=${`Q${queueId}: ${laneWords(queue, readers, source)}`}>
      <span class="cells-more quiet" title=${older > 0 ? t("lab.queues.older", { n: older }) : undefined}>
        ${older > 0 && "…"}
      </span>
      <span class="cells-row">
        ${entries.map(
          (entry) =>
            html`<${Cell}
              key=${entry.queue_offset}
              isRead=${entry.queue_offset < readTo}
              ...${{ topic, queueId, entry, source }}
            />`,
        )}
        ${flags.map((flag, track) => html`<${Flag} key=${flag.reader.key} track=${track} ...${flag} />`)}
      </span>
    </${Roving}>
    <${ShortLag} readers=${readers} end=${queue.max} />
  </div>`;
}

/** Marks the first entry that the group has not committed.
    @param {import("./cell_row.js").Flag & { track: number }} props */
const Flag = ({ reader, cell, isBefore, track }) => html`<${CommitMark}
  reader=${reader}
  size=${1.35}
  class=${`offset-mark ${isBefore ? "is-before" : ""}`}
  style=${{ "--track": track, transform: `translateX(calc(${cell} * var(--cell)))` }}
>
  ${isBefore && html`<span class="number">◂ ${reader.offset}</span>`}
</${CommitMark}>`;

/** The mark of a group where it stands; the rest are properties of the element.
    @param {{ reader: import("./readers.js").Reader, size: number, children?: any, [property: string]: any }} props */
export const CommitMark = ({ reader, size, children, ...rest }) => html`<span
  data-committed=${reader.name}
  title=${exactLag(reader)}
  ...${rest}
>
  <${GroupMark} group=${reader.name} size=${size} />${children}
</span>`;

const Cell = memo(
  /** @param {{ topic: string, queueId: string, entry: Picture.QueueEntry, isRead: boolean,
      source: Picture.LaneSource }} props */
  ({ topic, queueId, entry, isRead, source }) => {
    const place = { topic, queueId, entry, isRead };
    const label = t("lab.queues.entry", { offset: entry.queue_offset, key: entry.key || "–" });
    return html`<button
      type="button"
      data-entry=${entry.queue_offset}
      data-long=${entry.queue_offset > 999 || undefined}
      class=${`cell tone-${topicMark(topic).tone} ${isRead ? "is-done" : ""} ${source.markOf(place)}`}
      tabindex="-1"
      data-roving
      aria-label=${label}
      title=${label}
      onClick=${() => source.open?.(place)}
      ...${source.pointing(place)}
    >
      ${shortOffset(entry.queue_offset)}
    </button>`;
  },
);
