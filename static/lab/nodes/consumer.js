// A consumer: its ProcessQueues as the trees the engine holds, the calls of its listener, the pulls under way.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { GroupMark, TopicMark } from "../../live/panels/marks.js";
import { span } from "../format.js";
import { memo } from "../memo.js";
import { settingOfPart } from "../settings.js";
import { accused, compare, openRecord, pointedKey, view } from "../view.js";
import { Icon } from "../panels/icons.js";
import { SettingButton } from "../panels/settings.js";
import { Bank } from "./bank.js";
import { NodeCard } from "./node_card.js";
import { OrderLocks } from "./order_locks.js";
import { Tree } from "./tree.js";

/** Room for a tree at 14 px text: in one column, and in two. */
const WIDE_TREE = 300;
const NARROW_TREE = 152;
/** From so many queues on they stand in two columns. */
const MANY_QUEUES = 3;

export const Consumer = memo(({ name, node }) => {
  const queues = Object.keys(node.process_queues ?? {}).sort(compare);
  const isMany = queues.length >= MANY_QUEUES;
  return html`<${NodeCard} name=${name} node=${node} titleExtra=${html`<span class="node-group">${node.group && html`<${GroupMark} group=${node.group} size=${1.25} />`}<span class="ellipsis">${node.group}</span></span>`} lasting=${node.bank && html`<${Bank} part=${node.bank} />`}>
    <${Calls} calls=${node.listener_calls ?? EMPTY} permits=${node.permits} />
    <p class="node-line rule-line"><span class="quiet">${t("lab.consumer.limit")}</span><${SettingButton} node=${name} name=${settingOfPart(name, "process_queues")} /><span class="quiet">${t("lab.consumer.rebalance")}</span><${SettingButton} node=${name} name=${settingOfPart(name, "rebalance")} /></p>
    ${queues.length === 0 && html`<p class="node-line quiet">${t("lab.consumer.no_queues")}</p>`}
    <div class=${`process-queues ${isMany ? "is-many" : ""}`}>${queues.map((id) => html`<${ProcessQueue} key=${id} queue=${node.process_queues[id]} holder=${name} width=${isMany ? NARROW_TREE : WIDE_TREE} />`)}</div></${NodeCard}>`;
});

const EMPTY = [];

const Calls = memo(({ calls, permits }) => html`<ul class="chips listener-calls" aria-label=${t("lab.consumer.calls")}>
  <li class="chips-title quiet">${t("lab.consumer.listener")}</li>
  ${calls.length === 0 && html`<li class="quiet">${t("lab.consumer.idle")}</li>`}
  ${calls.map((call) => html`<li key=${`${call.topic}@${call.queue_id} ${call.offsets?.[0]}`} class=${`chip chip-call ${call.keys?.some((key) => accused.value.has(key)) ? "is-accused" : ""}`}
      onPointerEnter=${() => (pointedKey.value = call.keys?.[0] ?? null)} onPointerLeave=${() => (pointedKey.value = null)}
      title=${t("lab.consumer.since", { time: span(view.peek().time_us - call.since_us), queue: `${call.topic}@${call.queue_id}` })}>
    <span class="call-sign" aria-hidden="true"></span>${call.keys?.[0] || `${call.topic}@${call.queue_id}:${call.offsets?.[0]}`}${call.offsets?.length > 1 && html` <span class="attempt">+${call.offsets.length - 1}</span>`}</li>`)}
  ${permits && html`<li class="quiet number" title=${t("lab.consumer.permits_hint")}>${t("lab.consumer.permits", permits)}</li>`}</ul>`);

const shortActor = (actor) => actor.split("/").at(-1);

const ProcessQueue = memo(({ queue, holder, width }) => {
  const { topic, queue_id: queueId } = queue;
  const name = `${topic}@${queueId}`;
  const isAccused = accused.value.has(name);
  const open = (offset) => (openRecord.value = { broker: queue.broker, holder, record: { topic, queue_id: queueId, queue_offset: offset } });
  return html`<section class=${`process-queue ${queue.dropped ? "is-dropped" : ""} ${isAccused ? "is-accused" : ""}`} data-process-queue=${name} aria-label=${name}>
    <header class="process-head"><${TopicMark} topic=${topic} /><span class="mono" title=${name}>Q${queueId}</span>
      <span class="number held-count" title=${t("lab.consumer.held")}>${count(queue.message_count)}</span>
      ${!queue.local_lock && queue.consume_lock?.owner && html`<span class="chip chip-lock" title=${t("lab.consumer.lock_hint", { owner: queue.consume_lock.owner, n: queue.consume_lock.waiters.length })}>${shortActor(queue.consume_lock.owner)}${queue.consume_lock.waiters.length > 0 && html` <span class="attempt">+${queue.consume_lock.waiters.length}</span>`}</span>`}
      ${!queue.local_lock && queue.locked && html`<span class="sign" title=${t("lab.consumer.locked")}><${Icon} name="lock" /><span class="sr-only">${t("lab.consumer.locked")}</span></span>`}
      ${queue.dropped && html`<span class="badge badge-warning" title=${t("lab.consumer.dropped_hint")}>${t("lab.consumer.dropped")}</span>`}
      <span class=${`pull-sign ${queue.pull_in_flight ? "is-pulling" : ""}`} title=${t(queue.pull_in_flight ? "lab.consumer.pulling" : "lab.consumer.not_pulling")}>
        <span aria-hidden="true">${queue.pull_in_flight ? "⇠" : "·"}</span> <span class="quiet">${t("lab.consumer.next")}</span> <span class="number">${count(queue.next_pull_offset ?? queue.consume_offset)}</span></span></header>
    ${queue.local_lock && html`<${OrderLocks} queue=${queue} />`}
    ${queue.tree ? html`<${Tree} tree=${queue.tree} name="msgTreeMap" width=${width} onOpen=${open} />` : ""}
    ${queue.consuming_tree ? html`<${Tree} tree=${queue.consuming_tree} name="consumingMsgOrderlyTreeMap" width=${width} onOpen=${open} />` : ""}</section>`;
});
