// @ts-check
// A consumer: the calls of its listener, large; its ProcessQueues with their locks and as the trees that the engine
// holds; the pulls under way.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { GroupMark } from "../lane/marks.js";
import { span } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";
import { acting } from "../actions/thing.js";
import { density, isFocus, togglePart } from "../stage/folding.js";
import { pointing } from "../../common/viewer/pointed.js";
import { accused, compare, view } from "../../common/world/view.js";
import { worldClock } from "../../common/world/world_clock.js";
import { Icon } from "../controls/icons.js";
import { Loss } from "./loss.js";
import { Bank } from "./bank.js";
import { NodeCard } from "./node_card.js";
import { Rule } from "./part.js";
import { shortActor } from "./queue/locks.js";
import { ProcessQueue } from "./queue/process_queue.js";
import { forgetRoom, keepsRoom } from "./room.js";
import { Replies, Trace } from "./sending.js";
import { Guard } from "./work/guard.js";
import { worldSource } from "./world_source.js";

/** Room for a tree at 14 px text, by the density of the stage; and where queues are in two columns. */
const WIDE_TREE = [250, 250, 230, 186];
const NARROW_TREE = 152;
/** From this number of queues on they are in two columns. */
const MANY_QUEUES = 3;

export const Consumer = memo(({ name, node }) => {
  const queues = Object.keys(node.process_queues ?? {}).sort((a, b) => isOwn(a) - isOwn(b) || compare(a, b));
  const isMany = queues.filter((queue) => !isOwn(queue)).length >= MANY_QUEUES;
  const calls = node.listener_calls ?? EMPTY;
  const isGone = node.status === "crashed" || node.status === "off";
  const guard = node.idempotence && html`<${Guard} part=${node.idempotence} node=${name} />`;
  return html`<${NodeCard}
    name=${name}
    node=${node}
    titleExtra=${html`<span class="node-group" title=${t("lab.consumer.group", { group: node.group })}>
      ${node.group && html`<${GroupMark} group=${node.group} size=${1.4} />`}
      <span class="ellipsis">${node.group}</span>
      ${
        node.permits &&
        html`<span class="call-permits quiet number" title=${t("lab.consumer.permits_hint")}>
          ${t("lab.consumer.permits", node.permits)}
        </span>`
      }
    </span>`}
    summary=${t("lab.consumer.summary", { n: calls.length, queues: queues.length })}
    lasting=${html`${isGone && guard}${node.bank && html`<${Bank} part=${node.bank} node=${name} />`}`}
  >
    <${Calls} calls=${calls} holder=${name} ack=${node.listener?.batch_ack} />
    ${guard}
    ${node.handed_over && html`<${HandedOver} part=${node.handed_over} />`}
    ${
      node.alarm &&
      html`<p class="node-line" data-part="alarm" title=${t("lab.consumer.alarm_hint", node.alarm)}>
        <span class="badge badge-bad">${t("lab.consumer.alarm")}</span>
      </p>`
    }
    ${node.given_up && html`<${GivenUp} part=${node.given_up} />`}
    ${
      node.moved_aside &&
      html`<p class="node-line" data-moved-aside title=${t("lab.consumer.diverted_hint", node.moved_aside)}>
        <span class="quiet">${t("lab.consumer.diverted")}</span>${" "}
        <span class="number">${count(node.moved_aside.count)}</span>${" "}
        <span aria-hidden="true">→</span>${" "}
        ${node.moved_aside.topic}
      </p>`
    }
    ${node.loss && html`<${Loss} part=${node.loss} />`}
    ${node.replies && html`<${Replies} part=${node.replies} />`}
    ${node.trace && html`<${Trace} part=${node.trace} />`}
    ${node.filter && html`<${Filter} filter=${node.filter} group=${node.group} />`}
    ${queues.length === 0 && html`<p class="node-line quiet">${t("lab.consumer.no_queues")}</p>`}
    <div class=${`process-queues ${isMany ? "is-many" : ""}`}>
      ${queues.map(
        (id) =>
          html`<${WorldQueue}
            key=${id}
            queue=${node.process_queues[id]}
            holder=${name}
            width=${isMany && density.value < 2 ? NARROW_TREE : WIDE_TREE[density.value]}
          />`,
      )}
    </div>
    <p class="rules">
      <${Rule} node=${name} part="rebalance" label=${t("lab.consumer.rebalance")} />
      <${Rule} node=${name} part="process_queues" label=${t("lab.consumer.limit")} />
    </p>
  </${NodeCard}>`;
});

const EMPTY = [];
/** A topic of RocketMQ's own, as the group's retry topic, comes after those of applications. */
const isOwn = (queue) => queue.startsWith("%");
/** Keys of the list of a listener that hands over. */
const HANDED_SHOWN = 6;

/** Messages that were acknowledged and exist only in a list of the process. */
const HandedOver = memo(
  ({ part }) => html`<ul
    class="chips listener-calls"
    data-handed-over
    aria-label=${t("lab.consumer.handed_over")}
    title=${t("lab.consumer.handed_over_hint")}
  >
    <li class="chips-title quiet">${t("lab.consumer.handed_over")}</li>
    ${part.count === 0 && html`<li class="quiet">${t("lab.consumer.idle")}</li>`}
    ${part.keys.slice(0, HANDED_SHOWN).map(
      (key) =>
        html`<li
          key=${key}
          class=${`chip chip-handed ${accused.value.has(key) ? "is-accused" : ""}`}
          ...${pointing(key)}
        >
          ${key}
        </li>`,
    )}
    ${part.count > HANDED_SHOWN && html`<li class="quiet number">+${count(part.count - HANDED_SHOWN)}</li>`}
    ${
      part.gone.length > 0 &&
      html`<li class="badge badge-bad" title=${part.gone.join(" ")}>
        ${t("lab.consumer.gone", { n: part.gone.length })}
      </li>`
    }
  </ul>`,
);

/** Broadcast messages that failed here: this member will not get them again. */
const GivenUp = memo(
  ({ part }) => html`<ul
    class="chips listener-calls"
    data-given-up
    aria-label=${t("lab.consumer.given_up")}
    title=${t("lab.consumer.given_up_hint")}
  >
    <li class="chips-title quiet">${t("lab.consumer.given_up")}</li>
    ${part.count > part.keys.length && html`<li class="quiet number">${count(part.count - part.keys.length)} +</li>`}
    ${part.keys.map(
      (key, index) =>
        html`<li key=${`${index} ${key}`} class="badge badge-bad" ...${pointing(key)}>
          ${key}
        </li>`,
    )}
  </ul>`,
);

/** What it subscribes to, and what filters did with the messages of its topic. */
const Filter = memo(
  ({ filter, group }) => html`<p
    class="node-line filter-line"
    data-part="filter"
    title=${t("lab.consumer.filter_hint", { ...filter, group })}
  >
    <span class="quiet">${t("lab.consumer.filter")}</span>${" "}
    <code>${filter.expression}</code>${" "}
    <span class="badge">${filter.type}</span>
    <span class="quiet number">${t("lab.consumer.filter_counts", filter)}</span>
  </p>`,
);

/** What a listener answers for a batch of which some messages fail; most answer for it as a whole, and nothing is said.
 */
const BatchAck = ({ ack }) =>
  html`<li class="badge" data-part="batch-ack" title=${t(`lab.consumer.ack_hint_${ack.replaceAll("-", "_")}`)}>
    ${t(`lab.consumer.ack_${ack.replaceAll("-", "_")}`)}
  </li>`;

const MOST_CALLS = 4;

/** What the listener has now, and for how long: the sentence that a scenario is mostly about. */
const Calls = memo(
  ({ calls, holder, ack }) => html`<ul class="listener-calls" ref=${keepsRoom} aria-label=${t("lab.consumer.calls")}>
    ${calls.length === 0 && html`<li class="quiet">${t("lab.consumer.listener_idle")}</li>`}
    ${calls.slice(0, MOST_CALLS).map(
      (call) => html`<li
        key=${`${call.topic}@${call.queue_id} ${call.offsets?.[0]}`}
        class=${`listener-call ${call.keys?.some((key) => accused.value.has(key)) ? "is-accused" : ""}`}
      >
        <span class="call-sign" aria-hidden="true"></span>${t("lab.consumer.listener_has")}${" "}
        <button
          class=${`chip-call ${call.keys?.some((key) => accused.value.has(key)) ? "is-accused" : ""}`}
          ...${acting("call", { node: holder, call })}
          ...${pointing(call.keys?.[0] ?? null)}
          title=${t("lab.consumer.call_of", { queue: `${call.topic}@${call.queue_id}` })}
        >
          ${call.keys?.[0] || `${call.topic}@${call.queue_id}:${call.offsets?.[0]}`}
          ${call.offsets?.length > 1 && html` <span class="attempt">+${call.offsets.length - 1}</span>`}
        </button>
        <${Spent} since=${call.since_us} />
      </li>`,
    )}
    ${calls.length > MOST_CALLS && html`<li class="quiet number">+${calls.length - MOST_CALLS}</li>`}
    ${ack && ack !== "whole" && html`<${BatchAck} ack=${ack} />`}
  </ul>`,
);

/** Grows with time, while the rest of a call stays as it is. */
const Spent = ({ since }) => html`<span class="call-spent number">· ${span(view.value.time_us - since)}</span>`;

/** What its head says of the locks of a queue that need not be in order. */
const LockMarks = ({ queue: { consume_lock: lock, locked } }) => html`
  ${
    lock?.owner &&
    html`<span class="chip chip-lock" title=${t("lab.consumer.lock_hint", { owner: lock.owner, n: lock.waiter_count })}>
      ${shortActor(lock.owner)}
      ${lock.waiter_count > 0 && html` <span class="attempt">+${lock.waiter_count}</span>`}
    </span>`
  }
  ${
    locked &&
    html`<span class="sign" title=${t("lab.consumer.locked")}>
      <${Icon} name="lock" /><span class="sr-only">${t("lab.consumer.locked")}</span>
    </span>`
  }
`;

const foldTrees = () => (forgetRoom(), togglePart("trees"));

const WorldQueue = memo(({ queue, holder, width }) => {
  const isOrderly = queue.local_lock !== null;
  return html`<${ProcessQueue}
    clock=${worldClock}
    source=${worldSource}
    isTrees=${isFocus("trees")}
    isLarge=${isFocus("order_locks")}
    onFold=${foldTrees}
    marks=${isOrderly ? null : html`<${LockMarks} queue=${queue} />`}
    ...${{ queue, holder, isOrderly, width }}
  />`;
});
