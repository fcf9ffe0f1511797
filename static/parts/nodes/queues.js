// @ts-check
// The consume queues of a broker: what applications sent in large cells, with each group's flag before the first entry
// that it has not committed; topics of the broker's own as a line, unless the scenario is about them.

import { html } from "htm/preact";
import { shortOffset } from "../../common/world/format.js";
import { t } from "../../common/i18n.js";
import { GroupMark, TopicMark } from "../lane/marks.js";
import { greatestLag, progressOf, readersOf } from "../lane/readers.js";
import { topicMark } from "../../common/palette.js";
import { memo } from "../../common/memo.js";
import { entriesShown } from "../controls/dock.js";
import { DeadLettersButton } from "../messages/dead_letters.js";
import { density, isFocus, togglePart } from "../stage/folding.js";
import { Roving } from "../../common/roving.js";
import { QueueLag } from "./queue/queue_lag.js";
import { forgetRoom } from "./room.js";
import { accused, compare, isPointed, openRecord, pointedKey } from "../../common/world/view.js";

const NONE = [];
const DEAD_LETTER_PREFIX = "%DLQ%";

const KIND_ORDER = ["normal", "retry", "dlq", "delay", "half", "op", "system"];
/** The part of the stage that a topic belongs to; what applications send is always drawn. For half messages and delays
    there are tables, which say more than the broker's own queues of them. */
const PART_OF_KIND = { retry: "retry", dlq: "retry" };
/** No more cells than can be read, by the density of the stage. */
const CELLS_MOST = [9, 9, 6, 5];

const isPlain = ({ kind }) => kind === "normal" || kind === undefined;
const lengthOf = ({ queues = {} }) => Object.values(queues).reduce((sum, { max = 0, min = 0 }) => sum + max - min, 0);

export const Queues = memo(({ broker, topics, records }) => {
  // Topics of the broker's own only once something is in them.
  const shown = Object.keys(topics)
    .filter((name) => isPlain(topics[name]) || lengthOf(topics[name]) > 0)
    .sort((a, b) => KIND_ORDER.indexOf(topics[a].kind) - KIND_ORDER.indexOf(topics[b].kind) || compare(a, b));
  return html`<section class="queues" aria-label=${t("word.topics_and_queues")}>
    ${shown.length === 0 && html`<p class="node-line quiet">${t("lab.none_yet")}</p>`}
    ${shown.map(
      (name) => html`<${Topic} key=${name} broker=${broker} name=${name} topic=${topics[name]} records=${records} />`,
    )}
  </section>`;
});

const Topic = memo(({ broker, name, topic, records }) => {
  const part = isPlain(topic) ? null : (PART_OF_KIND[topic.kind] ?? "own_topics");
  const isOpen = part === null || isFocus(part);
  const title = html`<${TopicMark} topic=${name} /> <span class="ellipsis">${name}</span>`;
  const ids = Object.keys(topic.queues ?? {})
    .filter((id) => isPlain(topic) || topic.queues[id].max > 0)
    .sort(compare);
  return html`<section class=${`topic topic-${topic.kind ?? "normal"} ${isOpen ? "" : "is-line"}`} aria-label=${name}>
    <div class="part-head">
      <h3>
        ${
          part === null
            ? title
            : html`<button
              type="button"
              class="part-toggle"
              aria-expanded=${isOpen}
              onClick=${() => (forgetRoom(), togglePart(part))}
              title=${t(isOpen ? "lab.part.fold" : "lab.part.unfold")}
            >
              ${title}
            </button>`
        }
      </h3>
      ${
        part !== null &&
        isOpen &&
        html`<span class=${`kind kind-${topic.kind}`}>${t(`topic.kind_${topic.kind}`)}</span>`
      }
      ${!isOpen && html`<span class="part-summary quiet">${t("lab.queues.messages", { n: lengthOf(topic) })}</span>`}
      ${
        topic.kind === "dlq" &&
        ids.length > 0 &&
        html`<${DeadLettersButton} broker=${broker} group=${name.slice(DEAD_LETTER_PREFIX.length)} />`
      }
    </div>
    ${
      isOpen &&
      ids.map(
        (id) =>
          html`<${Queue}
            key=${id}
            broker=${broker}
            topic=${name}
            id=${id}
            queue=${topic.queues[id]}
            records=${records}
          />`,
      )
    }
  </section>`;
});

/** The newest entries. Above them each group has a track of its own for its flag, so that no two cover each other; a
    flag that belongs before all that is drawn says its offset at the left edge. */
const Queue = memo(({ broker, topic, id, queue, records }) => {
  const { min = 0, max = 0 } = queue;
  const entries = (queue.entries ?? NONE).slice(-Math.min(entriesShown.value, CELLS_MOST[density.value]));
  const groups = readersOf(queue, compare);
  const first = entries[0]?.queue_offset ?? max;
  const lag = greatestLag(groups);
  const read = lag === null ? 0 : max - lag;
  const openEntry = (entry) =>
    (openRecord.value = {
      broker,
      record: records.find((record) => record.offset === entry.offset) ?? { ...entry, topic, queue_id: Number(id) },
    });
  const name = `${topic}@${id}`;
  return html`<div
    class=${`queue ${accused.value.has(name) ? "is-accused" : ""}`}
    data-queue=${name}
    style=${{ "--tracks": Math.max(1, groups.length), "--entries": Math.max(5, entries.length) }}
  >
    <span class="queue-name">Q${id}</span>
    <${Roving} class="cells" role="group" aria-label=${t("lab.queues.label", { id, min, max, lag: lag ?? 0 })}>
      <span class="cells-more quiet" title=${first > min ? t("lab.queues.older", { n: first - min }) : undefined}>
        ${first > min && "…"}
      </span>
      <span class="cells-row">
        ${entries.map(
          (entry) =>
            html`<${Cell}
              key=${entry.queue_offset}
              tone=${topicMark(topic).tone}
              entry=${entry}
              done=${entry.queue_offset < read}
              onOpen=${openEntry}
            />`,
        )}
        ${groups.map(
          ({ name: group, offset }, track) =>
            html`<${Flag}
              key=${`g${group}`}
              group=${group}
              track=${track}
              at=${offset}
              first=${first}
              max=${max}
            />`,
        )}
      </span>
    </${Roving}>
    <${QueueLag} lag=${lag} end=${max} />
  </div>`;
});

/** Marks the first entry that the group has not committed. */
const Flag = memo(({ group, track, at, first, max }) => {
  const isBefore = at < first;
  const place = isBefore ? 0 : Math.min(at, max) - first;
  return html`<span
    class=${`offset-mark ${isBefore ? "is-before" : ""}`}
    data-committed=${group}
    style=${{ "--track": track, transform: `translateX(calc(${place} * var(--cell)))` }}
    title=${progressOf({ name: group, offset: at, lag: Math.max(0, max - at) })}
  >
    <${GroupMark} group=${group} size=${1.35} />
    ${isBefore && html`<span class="number">◂ ${at}</span>`}
  </span>`;
});

const Cell = memo(
  ({ tone, entry, done, onOpen }) => html`<button
    type="button"
    data-entry=${entry.queue_offset}
    data-long=${entry.queue_offset > 999 || undefined}
    class=${`cell tone-${tone} ${done ? "is-done" : ""} ${isPointed(entry.key) ? "is-pointed" : ""} ${
      !done && accused.value.has(entry.key) ? "is-accused" : ""
    }`}
    tabindex="-1"
    data-roving
    aria-label=${t("lab.queues.entry", { offset: entry.queue_offset, key: entry.key || "–" })}
    title=${t("lab.queues.entry", { offset: entry.queue_offset, key: entry.key || "–" })}
    onClick=${() => onOpen(entry)}
    onPointerEnter=${() => (pointedKey.value = entry.key || null)}
    onPointerLeave=${() => (pointedKey.value = null)}
  >
    ${shortOffset(entry.queue_offset)}
  </button>`,
);
