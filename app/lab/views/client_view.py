"""The state of a lab client, for its lane on the stage.

producer   group, client_id, sent, acknowledged, failed, unknown, in_flight (key, since_us)
           transactions: null, or of one that sends in transactions: running (key, check, since_us), ended (the last
           ones: key, check, result, time_us); check is 0 for the local transaction itself, n for the nth check-back
consumer   group, topic, client_id, process_queues by "topic@queue id": topic, broker, queue_id, tree,
           consuming_tree (see engine.client.queues.message_tree), message_count, cached_bytes, dropped, locked,
           consume_offset, next_pull_offset, last_pull_us, pull_in_flight, consume_lock (owner, waiters, on),
           flow_control (why it is not pulled: "count", "size", "span" or null), flow_control_times (how often each was
           the reason);
           of an orderly consumer also: locked_us (when the broker's lock was last granted or renewed), lock_lease_ms,
           local_lock (owner, waiters, on), consuming, slice_us (since when a worker has been at it, or null),
           slice_ms (how long it may), try_unlock_times;
           orderly, switched_off (names of engine.lab.scenario.switches); local_locks by the same names: those of queues
           that it no longer owns but that a worker still holds;
           listener_calls (topic, broker, queue_id, offsets, keys, since_us), permits (threads, busy),
           listener (result, duration_ms, batch_ack: see engine.lab.nodes.batch_answer);
           handed_over: null, or of a listener that hands messages over (engine.lab.nodes.in_memory_queue): count,
           keys (the first ones, the one under way first), gone (keys of what was in the list when a process ended);
           moved_aside: null, or topic, above, count (engine.lab.nodes.helper_producer)
           alarm: null, or of one that has suspended itself: key (of the message), times (it was delivered)
           given_up: null, or the broadcast messages that this member dropped: count, keys (of the last ones)
           filter: null for one that wants everything, or expression, type (TAG or SQL92), let_through and kept_back
           (what the brokers' filters did for its group), dropped (by this member, which compares the tags themselves)
           loss: null, or of a group that looks for losses: delivered and done, each null or numbered, met, lost, ranges
           (the first missing ones, [first, last]), duplicated, out_of_order, delivered_again
           replies: null, or of a consumer that answers requests: replied, failed, expired

Both also have trace, a producer also sending: see app.lab.views.sending_view. Both have bank: see
app.lab.views.money.bank_view. A producer has cash_machine: see app.lab.views.money.xa_nodes_view. A consumer has
idempotence: see app.lab.views.work_view.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from app.foundation.json_types import JsonObject, JsonValue
from app.lab.foundation.bounds import IN_FLIGHT_SHOWN, TREE_NODES_SHOWN
from app.lab.views.money.bank_view import bank_view
from app.lab.views.money.xa_nodes_view import cash_machine_view
from app.lab.views.sending_view import sending_view, trace_view
from app.lab.views.work_view import idempotence_view
from engine.client.consumer.consume_message_orderly_service import ConsumeMessageOrderlyService
from engine.client.queues.message_tree import message_tree
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.loss_watch import group_verdict
from engine.protocol.body.subscription_data import SUBSCRIBE_ALL
from engine.runtime.lab.lab_clock import WORLD_BEGIN_MS

if TYPE_CHECKING:
    from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
    from engine.client.queues.message_queue_lock import MessageQueueLock
    from engine.client.queues.process_queue import ProcessQueue
    from engine.lab.nodes.helper_producer import MoveAside, Replier
    from engine.lab.nodes.in_memory_queue import InMemoryQueue
    from engine.lab.nodes.local_transactions import LocalTransactions
    from engine.lab.nodes.producer_node import ProducerNode
    from engine.protocol.body.message_queue import MessageQueue
    from engine.runtime.engine_lock import EngineLock


def producer_view(role: ProducerNode) -> JsonObject:
    """Return the view of a producer."""
    in_flight: list[JsonValue] = [
        {"key": key, "since_us": since_us} for key, since_us in islice(role.sender.in_flight.items(), IN_FLIGHT_SHOWN)
    ]
    return {
        "group": role.spec.group,
        "client_id": None if role.producer is None else role.producer.instance.client_id,
        "sent": role.sender.sent,
        "acknowledged": role.sender.acknowledged,
        "failed": role.sender.refused,
        "unknown": role.sender.unknown,
        "in_flight": in_flight,
        "transactions": None if role.local_transactions is None else _transactions_view(role.local_transactions),
        "sending": sending_view(role),
        "trace": None if role.producer is None else trace_view(role.producer.trace_dispatcher),
        "bank": bank_view(role),
        "cash_machine": cash_machine_view(role.cash_machine),
    }


def _transactions_view(transactions: LocalTransactions) -> JsonObject:
    running: list[JsonValue] = [
        {"key": call.key, "check": call.check, "since_us": call.since_us}
        for call in islice(transactions.running.values(), IN_FLIGHT_SHOWN)
    ]
    ended: list[JsonValue] = [
        {"key": call.key, "check": call.check, "result": call.result, "time_us": call.time_us}
        for call in transactions.ended
    ]
    return {"running": running, "ended": ended}


def consumer_view(role: ConsumerNode) -> JsonObject:
    """Return the view of a consumer."""
    consumer = role.consumer
    listener_calls: list[JsonValue] = [
        {
            "topic": call.topic,
            "broker": call.broker,
            "queue_id": call.queue_id,
            "offsets": list(call.offsets),
            "keys": list(call.keys),
            "since_us": call.since_us,
        }
        for call in islice(role.listener_calls.values(), IN_FLIGHT_SHOWN)
    ]
    return {
        "group": role.spec.group,
        "topic": role.spec.topic,
        "client_id": None if consumer is None else consumer.instance.client_id,
        "orderly": role.spec.orderly,
        "switched_off": list(role.switched_off),
        "process_queues": {} if consumer is None else _process_queues(role, consumer),
        "local_locks": {} if consumer is None else _orphaned_locks(consumer),
        "listener_calls": listener_calls,
        "permits": {"threads": role.spec.threads, "busy": len(role.listener_calls)},
        "listener": {
            "result": role.listener.result.value,
            "duration_ms": role.listener.duration_ms,
            "batch_ack": role.listener.batch_ack.value,
        },
        "handed_over": None if role.hand_over is None else _handed_over(role.hand_over),
        "moved_aside": None if role.move_aside is None else _moved_aside(role.move_aside),
        "alarm": None if role.alarm is None else {"key": role.alarm.key, "times": role.alarm.deliveries},
        "given_up": _given_up(role) if role.given_up_count else None,
        "filter": None if role.spec.expression == SUBSCRIBE_ALL else _filter_view(role),
        "loss": None if role.loss_watch is None else _loss(role),
        "replies": None if role.replier is None else _replies(role.replier),
        "trace": None if consumer is None else trace_view(consumer.trace_dispatcher),
        "bank": bank_view(role),
        "idempotence": idempotence_view(role),
    }


def _filter_view(role: ConsumerNode) -> JsonObject:
    spec = role.spec
    brokers = [broker.broker for broker in role.world.roles(BrokerNode) if broker.broker is not None]
    counts = [broker.filter_statistics.of(spec.group, spec.topic) for broker in brokers]
    return {
        "expression": spec.expression,
        "type": spec.expression_type.value,
        "let_through": sum(count.let_through for count in counts),
        "kept_back": sum(count.kept_back for count in counts),
        "dropped": 0 if role.consumer is None else role.consumer.unwanted_messages(spec.topic),
    }


def _loss(role: ConsumerNode) -> JsonObject:
    """Return the losses of all members of the group together: one member alone cannot know what the others have
    received.
    """
    mine = (role.spec.group, role.spec.topic)
    members = [one for one in role.world.roles(ConsumerNode) if (one.spec.group, one.spec.topic) == mine]
    watches = [one.loss_watch for one in members if one.loss_watch is not None]

    def counts(*, on_arrival: bool) -> JsonObject | None:
        verdict = group_verdict(watches, role.world.now_us, on_arrival=on_arrival)
        if verdict is None:
            return None
        ranges: list[JsonValue] = [[*one] for producer in verdict.producers for one in producer.lost_ranges]
        names = ("numbered", "met", "lost", "duplicated", "out_of_order", "delivered_again")
        return {name: sum(getattr(one, name) for one in verdict.producers) for name in names} | {"ranges": ranges}

    return {"delivered": counts(on_arrival=True), "done": counts(on_arrival=False)}


def _replies(replier: Replier) -> JsonObject:
    return {"replied": replier.replied, "failed": replier.failed, "expired": replier.expired}


def _handed_over(hand_over: InMemoryQueue) -> JsonObject:
    waiting = hand_over.unfinished
    keys: list[JsonValue] = [message.key for message in waiting[:IN_FLIGHT_SHOWN]]
    gone: list[JsonValue] = [*hand_over.gone]
    return {"count": len(waiting), "keys": keys, "gone": gone[-IN_FLIGHT_SHOWN:]}


def _given_up(role: ConsumerNode) -> JsonObject:
    return {"count": role.given_up_count, "keys": [*role.given_up_keys]}


def _moved_aside(move_aside: MoveAside) -> JsonObject:
    return {"topic": move_aside.spec.topic, "above": move_aside.spec.above, "count": move_aside.moved}


def _process_queues(role: ConsumerNode, consumer: DefaultMQPushConsumer) -> JsonObject:
    """Return the process queues by ``topic@queue id``; with several brokers by ``topic@broker@queue id``.

    A pull in flight is a task.
    """
    tasks = (task.get_name() for task in role.runtime.node.tasks if not task.done())
    pulls = {name.removeprefix("pull ") for name in tasks if name.startswith("pull ")}
    queues = consumer.process_queues
    one_broker = len({queue.broker_name for queue in queues}) <= 1
    offset_of = consumer.offset_store.offset_in_memory
    skew_ms = role.runtime.clock.skew_ms
    shown: JsonObject = {}
    for queue, process_queue in queues.items():
        view = _process_queue(queue, process_queue, offset_of, skew_ms, pulls)
        if role.spec.orderly:
            view.update(_order(queue, process_queue, consumer, skew_ms))
        shown[_name(queue, one_broker)] = view
    return shown


def _name(queue: MessageQueue, one_broker: bool) -> str:
    return f"{queue.topic}@{queue.queue_id}" if one_broker else f"{queue.topic}@{queue.broker_name}@{queue.queue_id}"


def _order(
    queue: MessageQueue, process_queue: ProcessQueue, consumer: DefaultMQPushConsumer, skew_ms: int
) -> JsonObject:
    """Return what keeps the queue in order."""
    service = consumer.consume_service
    request = service.slices.get(queue) if isinstance(service, ConsumeMessageOrderlyService) else None
    return {
        "locked_us": world_us(process_queue.last_lock_timestamp, skew_ms),
        "lock_lease_ms": process_queue.lock_max_live_time_ms,
        "local_lock": _local_lock(queue, consumer.message_queue_lock),
        "consuming": process_queue.consuming,
        "slice_us": request.slice_began_us if request is not None else None,
        "slice_ms": consumer.config.max_time_consume_continuously_ms,
        "try_unlock_times": process_queue.try_unlock_times,
    }


def _orphaned_locks(consumer: DefaultMQPushConsumer) -> JsonObject:
    """Return the held local locks of queues that this member no longer owns."""
    owned = consumer.process_queues
    locks = [(queue, lock) for queue, lock in consumer.message_queue_lock.locks.items() if lock.is_locked]
    one_broker = len({queue.broker_name for queue, _ in locks}) <= 1
    return {_name(queue, one_broker): _lock(lock) for queue, lock in locks if queue not in owned}


def _local_lock(queue: MessageQueue, message_queue_lock: MessageQueueLock) -> JsonObject:
    lock = message_queue_lock.locks.get(queue)
    # The lock has not been requested yet.
    return {"owner": None, "waiters": [], "on": message_queue_lock.enabled} if lock is None else _lock(lock)


def _lock(lock: EngineLock) -> JsonObject:
    return {"owner": lock.owner, "waiters": list(lock.waiters), "on": lock.enabled}


def world_us(timestamp_ms: int, skew_ms: int) -> int:
    """Return the virtual time at which the node's wall clock showed ``timestamp_ms``."""
    return (timestamp_ms - skew_ms - WORLD_BEGIN_MS) * 1_000


def _process_queue(
    queue: MessageQueue,
    process_queue: ProcessQueue,
    offset_of: Callable[[MessageQueue], int | None],
    skew_ms: int,
    pulls: set[str],
) -> JsonObject:
    consume_offset = offset_of(queue)
    greatest = process_queue.queue_offset_max
    return {
        "topic": queue.topic,
        "broker": queue.broker_name,
        "queue_id": queue.queue_id,
        "tree": message_tree(process_queue.msg_tree_map, TREE_NODES_SHOWN),
        "consuming_tree": message_tree(process_queue.consuming_msg_orderly_tree_map, TREE_NODES_SHOWN),
        "message_count": process_queue.msg_count,
        "cached_bytes": process_queue.msg_size,
        "dropped": process_queue.dropped,
        "locked": process_queue.locked,
        "consume_offset": consume_offset,
        "next_pull_offset": greatest + 1 if greatest or process_queue.msg_count else consume_offset,
        "last_pull_us": world_us(process_queue.last_pull_timestamp, skew_ms),
        "pull_in_flight": f"{queue.topic} {queue.broker_name} {queue.queue_id}" in pulls,
        "consume_lock": _lock(process_queue.consume_lock),
        "flow_control": process_queue.flow_control,
        "flow_control_times": dict(process_queue.flow_control_times),
    }
