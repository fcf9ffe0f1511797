"""What a lab client holds, for its lane on the stage.

producer   group, client_id, sent, acknowledged, failed, unknown, in_flight (key, since_us)
consumer   group, topic, client_id, process_queues by "topic@queue id": topic, broker, queue_id, tree,
           consuming_tree (see app.lab.tree_view), message_count, cached_bytes, dropped, locked, consume_offset,
           next_pull_offset, last_pull_us, pull_in_flight, consume_lock (owner, waiters);
           listener_calls (topic, broker, queue_id, offsets, keys, since_us), permits (threads, busy),
           listener (result, duration_ms)
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from app.json_types import JsonObject, JsonValue
from app.lab.bounds import IN_FLIGHT_SHOWN
from app.lab.tree_view import tree_view
from engine.runtime.lab_clock import WORLD_BEGIN_MS

if TYPE_CHECKING:
    from engine.client.default_mq_push_consumer import DefaultMQPushConsumer
    from engine.client.process_queue import ProcessQueue
    from engine.lab.consumer_role import ConsumerRole
    from engine.lab.producer_role import ProducerRole
    from engine.protocol.message_queue import MessageQueue


def producer_view(role: ProducerRole) -> JsonObject:
    """See the module."""
    in_flight: list[JsonValue] = [
        {"key": key, "since_us": since_us} for key, since_us in islice(role.in_flight.items(), IN_FLIGHT_SHOWN)
    ]
    return {
        "group": role.spec.group,
        "client_id": None if role.producer is None else role.producer.instance.client_id,
        "sent": role.sent,
        "acknowledged": role.acknowledged,
        "failed": role.refused,
        "unknown": role.unknown,
        "in_flight": in_flight,
    }


def consumer_view(role: ConsumerRole) -> JsonObject:
    """See the module."""
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
        "process_queues": {} if consumer is None else _process_queues(role, consumer),
        "listener_calls": listener_calls,
        "permits": {"threads": role.spec.threads, "busy": len(role.listener_calls)},
        "listener": {"result": role.listener.result.value, "duration_ms": role.listener.duration_ms},
    }


def _process_queues(role: ConsumerRole, consumer: DefaultMQPushConsumer) -> JsonObject:
    """By ``topic@queue id``; with several brokers by ``topic@broker@queue id``. A pull in flight is a task."""
    tasks = (task.get_name() for task in role.runtime.node.tasks if not task.done())
    pulls = {name.removeprefix("pull ") for name in tasks if name.startswith("pull ")}
    queues = consumer.process_queues
    one_broker = len({queue.broker_name for queue in queues}) <= 1
    offset_of = consumer.offset_store.offset_in_memory
    skew_ms = role.runtime.clock.skew_ms
    return {
        f"{queue.topic}@{queue.queue_id}"
        if one_broker
        else f"{queue.topic}@{queue.broker_name}@{queue.queue_id}": _process_queue(
            queue, process_queue, offset_of, skew_ms, pulls
        )
        for queue, process_queue in queues.items()
    }


def _process_queue(
    queue: MessageQueue,
    process_queue: ProcessQueue,
    offset_of: Callable[[MessageQueue], int | None],
    skew_ms: int,
    pulls: set[str],
) -> JsonObject:
    lock = process_queue.consume_lock
    consume_offset = offset_of(queue)
    greatest = process_queue.queue_offset_max
    return {
        "topic": queue.topic,
        "broker": queue.broker_name,
        "queue_id": queue.queue_id,
        "tree": tree_view(process_queue.msg_tree_map),
        "consuming_tree": tree_view(process_queue.consuming_msg_orderly_tree_map),
        "message_count": process_queue.msg_count,
        "cached_bytes": process_queue.msg_size,
        "dropped": process_queue.dropped,
        "locked": process_queue.locked,
        "consume_offset": consume_offset,
        "next_pull_offset": greatest + 1 if greatest or process_queue.msg_count else consume_offset,
        "last_pull_us": (process_queue.last_pull_timestamp - skew_ms - WORLD_BEGIN_MS) * 1_000,
        "pull_in_flight": f"{queue.topic} {queue.broker_name} {queue.queue_id}" in pulls,
        "consume_lock": {"owner": lock.owner, "waiters": list(lock.waiters)},
    }
