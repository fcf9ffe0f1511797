// @ts-check
// A process queue of a live client, as the lab's stage draws one. A click on a message opens the record.

import { html } from "htm/preact";
import { faults } from "../../../common/faults.js";
import { t } from "../../../common/i18n.js";
import { ProcessQueue as QueueCard } from "../../../parts/nodes/queue/process_queue.js";
import { nameOf } from "../../client_name.js";
import { Bolt } from "../../faults/bolt.js";
import { brokerClock } from "../../../common/cluster/clock.js";
import { state } from "../../../common/cluster/view.js";
import { openMessage } from "./asking.js";

const TREE_WIDTH = 300;

/** Somebody switched the broker's lock off, for the group or for all: it grants every queue to everybody. */
export const isLockOff = (group) =>
  Boolean(faults.value.broken.broker_lock_off || faults.value.broken.groups_off?.includes(group));

/** @returns {import("../../../parts/nodes/queue/locks.js").Source} */
const sourceOf = (group) => ({
  ask({ topic, broker, queue_id: queueId }, holder) {
    const lock = broker === state.value.cluster.broker_name && state.value.locks[group]?.[`${topic}@${queueId}`];
    const rival = lock && lock.client_id !== holder ? nameOf(lock.client_id) : null;
    return { isLockOff: isLockOff(group), rival };
  },
  open: (queue, _, { offset }) => openMessage(queue.topic, queue.queue_id, offset),
});

/** `nowUs`: the broker's time of the answer. `holders`: who holds which queue. */
export function ProcessQueue({ group, queue, member, nowUs, holders, isTrees }) {
  const { topic, broker, queue_id: queueId, dropped } = queue;
  const others = (holders.get(`${topic}@${broker}@${queueId}`) ?? []).filter((id) => id !== member.client_id);
  const facts = { group, topic, queueId: `${queueId}` };
  const marks = html`
    ${broker !== state.value.cluster.broker_name && html`<span class="badge">${broker}</span>`}
    ${
      !dropped &&
      others.map(
        (id) => html`<span key=${id} class="badge badge-bad" title=${id}>
            ${t("live.internals.also_at", { id: nameOf(id) })}
          </span>`,
      )
    }
  `;
  return html`<${QueueCard}
    queue=${queue}
    holder=${member.client_id}
    isOrderly=${!dropped && (member.orderly || queue.locked)}
    clock=${brokerClock}
    source=${sourceOf(group)}
    isTrees=${isTrees}
    isLarge=${true}
    width=${TREE_WIDTH}
    marks=${marks}
    tools=${html`<${Bolt} kind="queue" facts=${facts} name=${`${topic} Q${queueId}`} />`}
  >
    <p class="queue-times quiet">
      <${Ago} at=${queue.last_pull_us} nowUs=${nowUs} label="live.internals.pulled" />
      <${Ago} at=${queue.last_consume_us} nowUs=${nowUs} label="live.internals.consumed" />
    </p>
  </${QueueCard}>`;
}

const Ago = ({ at, nowUs, label }) =>
  at !== null && html`<span>${t(label, { time: brokerClock.span(nowUs - at) })}</span>`;
