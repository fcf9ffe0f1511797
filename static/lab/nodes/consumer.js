// A consumer: its ProcessQueues as the trees the engine holds, the calls of its listener, the pulls under way.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { GroupMark, TopicMark } from "../../live/panels/stage/marks.js";
import { span } from "../format.js";
import { memo } from "../memo.js";
import { settingOfPart } from "../settings.js";
import { accused, compare, openRecord, pointedKey, view } from "../view.js";
import { Icon } from "../panels/controls/icons.js";
import { SettingButton } from "../panels/controls/settings.js";
import { Bank } from "./bank.js";
import { NodeCard } from "./node_card.js";
import { OrderLocks } from "./order_locks.js";
import { Replies, Trace } from "./sending.js";
import { Tree } from "./tree.js";

/** Room for a tree at 14 px text: in one column, and in two. */
const WIDE_TREE = 300;
const NARROW_TREE = 152;
/** From so many queues on they stand in two columns. */
const MANY_QUEUES = 3;

export const Consumer = memo(({ name, node }) => {
  const queues = Object.keys(node.process_queues ?? {}).sort(compare);
  const isMany = queues.length >= MANY_QUEUES;
  return html`<${NodeCard}
    name=${name}
    node=${node}
    titleExtra=${html`<span class="node-group">
      ${node.group && html`<${GroupMark} group=${node.group} size=${1.25} />`}
      <span class="ellipsis">${node.group}</span>
    </span>`}
    lasting=${node.bank && html`<${Bank} part=${node.bank} />`}
  >
    <${Calls} calls=${node.listener_calls ?? EMPTY} permits=${node.permits} ack=${node.listener?.batch_ack} />
    ${node.handed_over && html`<${HandedOver} part=${node.handed_over} />`}
    ${node.given_up && html`<${GivenUp} part=${node.given_up} />`}
    ${
      node.moved_aside &&
      html`<p class="node-line" data-moved-aside title=${t("lab.consumer.aside_hint", node.moved_aside)}>
        <span class="quiet">${t("lab.consumer.aside")}</span>${" "}
        <span class="number">
          ${count(node.moved_aside.count)}
        </span>${" "}
        <span aria-hidden="true">→</span>${" "}
        ${node.moved_aside.topic}
      </p>`
    }
    ${node.replies && html`<${Replies} part=${node.replies} />`}
    ${node.trace && html`<${Trace} part=${node.trace} />`}
    <p class="node-line rule-line">
      <span class="quiet">${t("lab.consumer.limit")}</span>
      <${SettingButton} node=${name} name=${settingOfPart(name, "process_queues")} />
      <span class="quiet">${t("lab.consumer.rebalance")}</span>
      <${SettingButton} node=${name} name=${settingOfPart(name, "rebalance")} />
    </p>
    ${node.filter && html`<${Filter} filter=${node.filter} group=${node.group} />`}
    ${queues.length === 0 && html`<p class="node-line quiet">${t("lab.consumer.no_queues")}</p>`}
    <div class=${`process-queues ${isMany ? "is-many" : ""}`}>
      ${queues.map(
        (id) =>
          html`<${ProcessQueue}
            key=${id}
            queue=${node.process_queues[id]}
            holder=${name}
            width=${isMany ? NARROW_TREE : WIDE_TREE}
          />`,
      )}
    </div>
  </${NodeCard}>`;
});

const EMPTY = [];
/** Keys of the list of a listener that hands over. */
const HANDED_SHOWN = 6;

/** Messages that were acknowledged and lie in a list of the process: the list is all there is of them. */
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
          onPointerEnter=${() => (pointedKey.value = key)}
          onPointerLeave=${() => (pointedKey.value = null)}
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
        html`<li
          key=${`${index} ${key}`}
          class="badge badge-bad"
          onPointerEnter=${() => (pointedKey.value = key)}
          onPointerLeave=${() => (pointedKey.value = null)}
        >
          ${key}
        </li>`,
    )}
  </ul>`,
);

/** What it subscribes to, and what became of the messages of its topic. */
const Filter = memo(
  ({ filter, group }) => html`<p
    class="node-line filter-line"
    data-part="filter"
    title=${t("lab.consumer.filter_hint", { ...filter, group })}
  >
    <span class="quiet">${t("lab.consumer.filter")}</span>${" "}
    <code>${filter.expression}</code>${" "}
    <span class="badge">
      ${filter.type}
    </span>
    <span class="quiet number">${t("lab.consumer.filter_counts", filter)}</span>
  </p>`,
);

/** What a listener answers for a batch of which some messages fail; most answer for it as a whole, and nothing is said.
 */
const BatchAck = ({ ack }) =>
  html`<li class="badge" data-part="batch-ack" title=${t(`lab.consumer.ack_hint_${ack.replaceAll("-", "_")}`)}>
    ${t(`lab.consumer.ack_${ack.replaceAll("-", "_")}`)}
  </li>`;

const Calls = memo(
  ({ calls, permits, ack }) => html`<ul class="chips listener-calls" aria-label=${t("lab.consumer.calls")}>
    <li class="chips-title quiet">${t("lab.consumer.listener")}</li>
    ${calls.length === 0 && html`<li class="quiet">${t("lab.consumer.idle")}</li>`}
    ${calls.map(
      (call) => html`<li
        key=${`${call.topic}@${call.queue_id} ${call.offsets?.[0]}`}
        class=${`chip chip-call ${call.keys?.some((key) => accused.value.has(key)) ? "is-accused" : ""}`}
        onPointerEnter=${() => (pointedKey.value = call.keys?.[0] ?? null)}
        onPointerLeave=${() => (pointedKey.value = null)}
        title=${t("lab.consumer.since", {
          time: span(view.peek().time_us - call.since_us),
          queue: `${call.topic}@${call.queue_id}`,
        })}
      >
        <span class="call-sign" aria-hidden="true"></span>
        ${call.keys?.[0] || `${call.topic}@${call.queue_id}:${call.offsets?.[0]}`}
        ${call.offsets?.length > 1 && html` <span class="attempt">+${call.offsets.length - 1}</span>`}
      </li>`,
    )}
    ${
      permits &&
      html`<li class="quiet number" title=${t("lab.consumer.permits_hint")}>${t("lab.consumer.permits", permits)}</li>`
    }
    ${ack && ack !== "whole" && html`<${BatchAck} ack=${ack} />`}
  </ul>`,
);

const shortActor = (actor) => actor.split("/").at(-1);

const ProcessQueue = memo(({ queue, holder, width }) => {
  const { topic, queue_id: queueId } = queue;
  const name = `${topic}@${queueId}`;
  const isAccused = accused.value.has(name);
  const open = (offset) =>
    (openRecord.value = { broker: queue.broker, holder, record: { topic, queue_id: queueId, queue_offset: offset } });
  return html`<section
    class=${`process-queue ${queue.dropped ? "is-dropped" : ""} ${isAccused ? "is-accused" : ""}`}
    data-process-queue=${name}
    aria-label=${`${holder} ${name}`}
  >
    <header class="process-head">
      <${TopicMark} topic=${topic} /><span class="mono" title=${name}>Q${queueId}</span>
      <span class="number held-count" title=${t("lab.consumer.held")}>${count(queue.message_count)}</span>
      ${
        !queue.local_lock &&
        queue.consume_lock?.owner &&
        html`<span
          class="chip chip-lock"
          title=${t("lab.consumer.lock_hint", {
            owner: queue.consume_lock.owner,
            n: queue.consume_lock.waiters.length,
          })}
        >
          ${shortActor(queue.consume_lock.owner)}
          ${
            queue.consume_lock.waiters.length > 0 &&
            html` <span class="attempt">+${queue.consume_lock.waiters.length}</span>`
          }
        </span>`
      }
      ${
        !queue.local_lock &&
        queue.locked &&
        html`<span class="sign" title=${t("lab.consumer.locked")}>
          <${Icon} name="lock" /><span class="sr-only">${t("lab.consumer.locked")}</span>
        </span>`
      }
      ${
        queue.flow_control &&
        html`<span
          class="badge badge-warning flow-control"
          data-flow-control=${queue.flow_control}
          title=${t(`lab.consumer.flow_${queue.flow_control}`, { n: queue.flow_control_times[queue.flow_control] })}
        >
          <span class="flow-sign" aria-hidden="true">❚❚</span>${" "}
          <span class="flow-text">
            ${t(`lab.consumer.flow_${queue.flow_control}_short`)}
          </span>
        </span>`
      }
      ${
        queue.dropped &&
        html`<span class="badge badge-warning" title=${t("lab.consumer.dropped_hint")}>
          ${t("lab.consumer.dropped")}
        </span>`
      }
      <span
        class=${`pull-sign ${queue.pull_in_flight ? "is-pulling" : ""}`}
        title=${t(queue.pull_in_flight ? "lab.consumer.pulling" : "lab.consumer.not_pulling")}
      >
        <span aria-hidden="true">${queue.pull_in_flight ? "⇠" : "·"}</span>${" "}
        <span class="quiet">
          ${t("lab.consumer.next")}
        </span>${" "}
        <span class="number">${count(queue.next_pull_offset ?? queue.consume_offset)}</span>
      </span>
    </header>
    ${queue.local_lock && html`<${OrderLocks} queue=${queue} />`}
    ${queue.tree ? html`<${Tree} tree=${queue.tree} name="msgTreeMap" width=${width} onOpen=${open} />` : ""}
    ${
      queue.consuming_tree
        ? html`<${Tree}
          tree=${queue.consuming_tree}
          name="consumingMsgOrderlyTreeMap"
          width=${width}
          onOpen=${open}
        />`
        : ""
    }
  </section>`;
});
