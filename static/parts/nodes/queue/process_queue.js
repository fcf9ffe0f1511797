// @ts-check
// A process queue of a consumer: its locks as pills, its messages as cells or as the trees that the engine holds.

import { html } from "htm/preact";
import { useMemo, useRef } from "preact/hooks";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { memo } from "../../../common/memo.js";
import { TopicMark } from "../../lane/marks.js";
import { keepsRoom } from "../room.js";
import { isIdle, OrderLocks } from "./locks.js";
import { Messages } from "./tree.js";
import { Button } from "../../controls/button.js";

/**
 * `isTrees`: as trees, `width` pixels wide; `onFold`: makes the number of messages the button for that. `isLarge`: with
 * the names of the locks. `marks` and `tools` stand in its head, `children` below.
 * @typedef {object} Props
 * @property {Picture.ProcessQueue | Picture.WorldProcessQueue} queue
 * @property {string} holder
 * @property {boolean} isOrderly
 * @property {Picture.Clock} clock
 * @property {import("./locks.js").Source} source
 * @property {boolean} isTrees
 * @property {boolean} isLarge
 * @property {number} width
 * @property {() => void} [onFold]
 * @property {any} [marks]
 * @property {any} [tools]
 * @property {any} [children]
 */

/** @param {Props} props */
function ProcessQueueOf({ queue, holder, isOrderly, clock, source, isTrees, isLarge, width, onFold, ...parts }) {
  const { topic, queue_id: queueId, dropped } = queue;
  const name = `${topic}@${queueId}`;
  const kinds = [dropped && "is-dropped", source.isAccused?.(name) && "is-accused", isIdle(queue) && "is-idle"];
  const latest = useRef(queue);
  latest.current = queue;
  // The same function while the queue changes: its messages are drawn again only when they are others.
  const onOpen = useMemo(
    () => (message, event) => source.open(latest.current, holder, message, event),
    [source, holder],
  );
  const rows = { topic, isTree: isTrees, width, isAccused: source.isAccused, onOpen };
  return html`<section
    class=${["process-queue", ...kinds].filter(Boolean).join(" ")}
    data-process-queue=${name}
    ref=${keepsRoom}
    aria-label=${`${holder} ${name}`}
  >
    <header class="process-head">
      <${TopicMark} topic=${topic} /><strong title=${`${topic} Q${queueId} · ${queue.broker}`}>Q${queueId}</strong>
      <${HeldCount} n=${queue.message_count} isOpen=${isTrees} onFold=${onFold} />
      <${FlowControl} queue=${queue} />
      ${
        dropped &&
        html`<span class="badge badge-warning" title=${t("lab.consumer.dropped_hint")}>
          ${t("lab.consumer.dropped")}
        </span>`
      }
      ${parts.marks}
      <${Offset} queue=${queue} />
      ${parts.tools}
    </header>
    ${isOrderly && html`<${OrderLocks} ...${{ queue, holder, clock, source, isLarge }} />`}
    <${Messages} name="msgTreeMap" tree=${queue.tree} held=${queue.waiting} ...${rows} />
    <${Messages} name="consumingMsgOrderlyTreeMap" tree=${queue.consuming_tree} held=${queue.in_hand} ...${rows} />
    ${parts.children}
  </section>`;
}

export const ProcessQueue = memo(ProcessQueueOf);

function HeldCount({ n, isOpen, onFold }) {
  if (n === null) return null;
  const words = t("lab.consumer.held_short", { n });
  const title = t("lab.consumer.held");
  if (!onFold) return html`<span class="number" title=${title}>${words}</span>`;
  return html`<${Button}
    class="held-count part-toggle number" aria-expanded=${isOpen} onClick=${onFold}
    title=${`${title}. ${t(isOpen ? "lab.part.fold" : "lab.part.unfold")}`}
  >
    ${words}
  </${Button}>`;
}

function FlowControl({ queue: { flow_control: why, flow_control_times: times } }) {
  if (!why) return null;
  return html`<span
    class="badge badge-warning flow-control"
    data-flow-control=${why}
    title=${times && t(`lab.consumer.flow_${why}`, { n: times[why] })}
  >
    <span class="flow-sign" aria-hidden="true">❚❚</span>${" "}
    <span class="flow-text">${t(`lab.consumer.flow_${why}_short`)}</span>
  </span>`;
}

/** Where the next pull begins and whether one is under way, which a lab world knows; else what is committed. */
function Offset({ queue }) {
  if (!("pull_in_flight" in queue))
    return html`<span class="pull-sign">
      <span class="quiet">${t("live.groups.committed")}</span>${" "}
      <span class="number">${count(queue.consume_offset)}</span>
    </span>`;
  const isPulling = queue.pull_in_flight;
  return html`<span
    class=${`pull-sign ${isPulling ? "is-pulling" : ""}`}
    title=${t(isPulling ? "lab.consumer.pulling" : "lab.consumer.not_pulling")}
  >
    <span aria-hidden="true">${isPulling ? "⇠" : "·"}</span>${" "}
    <span class="quiet">${t("lab.consumer.next")}</span>${" "}
    <span class="number">${count(queue.next_pull_offset ?? queue.consume_offset)}</span>
  </span>`;
}
