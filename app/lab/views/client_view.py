"""The state of a lab client, for its lane on the stage."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import IN_FLIGHT_SHOWN, TREE_NODES_SHOWN
from app.lab.views.money.bank_view import bank_view
from app.lab.views.money.xa_nodes_view import cash_machine_view
from app.lab.views.sending_view import sending_view, trace_view
from app.lab.views.work_view import idempotence_view
from app.observation.unix_time import world_us
from engine.client.consumer.consume_message_orderly_service import ConsumeMessageOrderlyService
from engine.client.queues.message_tree import message_tree
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.loss_watch import group_verdict
from engine.protocol.body.subscription_data import SUBSCRIBE_ALL

if TYPE_CHECKING:
    from app.picture.lock import LocalLock
    from app.picture.process_queue import HeldMessages, WorldProcessQueue
    from app.picture.world import producer as picture
    from app.picture.world.consumer import (
        Consumer,
        Filter,
        GivenUp,
        HandedOver,
        ListenerCall,
        Loss,
        LossCounts,
        MovedAside,
        Replies,
    )
    from app.picture.world.producer import EndedTransaction, InFlight, Producer, RunningTransaction
    from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
    from engine.client.foundation.red_black_tree import RedBlackTree
    from engine.client.queues.message_queue_lock import MessageQueueLock
    from engine.client.queues.process_queue import ProcessQueue
    from engine.lab.nodes.helper_producer import MoveAside, Replier
    from engine.lab.nodes.in_memory_queue import InMemoryQueue
    from engine.lab.nodes.local_transactions import LocalTransactions
    from engine.lab.nodes.producer_node import ProducerNode
    from engine.protocol.body.message_queue import MessageQueue
    from engine.protocol.message.message import MessageExt
    from engine.runtime.engine_lock import EngineLock


def producer_view(role: ProducerNode) -> Producer:
    """Return the view of a producer."""
    in_flight: list[InFlight] = [
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


def _transactions_view(transactions: LocalTransactions) -> picture.LocalTransactions:
    running: list[RunningTransaction] = [
        {"key": call.key, "check": call.check, "since_us": call.since_us}
        for call in islice(transactions.running.values(), IN_FLIGHT_SHOWN)
    ]
    ended: list[EndedTransaction] = [
        {"key": call.key, "check": call.check, "result": call.result, "time_us": call.time_us}
        for call in transactions.ended
    ]
    return {"running": running, "ended": ended}


def consumer_view(role: ConsumerNode) -> Consumer:
    """Return the view of a consumer."""
    consumer = role.consumer
    listener_calls: list[ListenerCall] = [
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


def _filter_view(role: ConsumerNode) -> Filter:
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


def _loss(role: ConsumerNode) -> Loss:
    """Return the losses of all members of the group together: one member alone cannot know what the others have
    received.
    """
    mine = (role.spec.group, role.spec.topic)
    members = [one for one in role.world.roles(ConsumerNode) if (one.spec.group, one.spec.topic) == mine]
    watches = [one.loss_watch for one in members if one.loss_watch is not None]

    def counts(*, on_arrival: bool) -> LossCounts | None:
        verdict = group_verdict(watches, role.world.now_us, on_arrival=on_arrival)
        if verdict is None:
            return None
        producers = verdict.producers
        return {
            "numbered": sum(one.numbered for one in producers),
            "met": sum(one.met for one in producers),
            "missing": sum(one.lost for one in producers),
            "twice": sum(one.duplicated for one in producers),
            "out_of_order": sum(one.out_of_order for one in producers),
            "delivered_again": sum(one.delivered_again for one in producers),
            "ranges": [[*numbers] for one in producers for numbers in one.lost_ranges],
        }

    return {"delivered": counts(on_arrival=True), "done": counts(on_arrival=False)}


def _replies(replier: Replier) -> Replies:
    return {"replied": replier.replied, "failed": replier.failed, "expired": replier.expired}


def _handed_over(hand_over: InMemoryQueue) -> HandedOver:
    waiting = hand_over.unfinished
    keys = [message.key for message in waiting[:IN_FLIGHT_SHOWN]]
    return {"count": len(waiting), "keys": keys, "gone": [*hand_over.gone][-IN_FLIGHT_SHOWN:]}


def _given_up(role: ConsumerNode) -> GivenUp:
    return {"count": role.given_up_count, "keys": [*role.given_up_keys]}


def _moved_aside(move_aside: MoveAside) -> MovedAside:
    return {"topic": move_aside.spec.topic, "above": move_aside.spec.above, "count": move_aside.moved}


def _process_queues(role: ConsumerNode, consumer: DefaultMQPushConsumer) -> dict[str, WorldProcessQueue]:
    """Return the process queues by ``topic@queue id``; with several brokers by ``topic@broker@queue id``.

    A pull in flight is a task.
    """
    tasks = (task.get_name() for task in role.runtime.node.tasks if not task.done())
    pulls = {name.removeprefix("pull ") for name in tasks if name.startswith("pull ")}
    queues = consumer.process_queues
    one_broker = len({queue.broker_name for queue in queues}) <= 1
    begin_ms = role.runtime.clock.begin_ms
    shown: dict[str, WorldProcessQueue] = {}
    for queue, process_queue in queues.items():
        view = _process_queue(queue, process_queue, consumer, begin_ms, pulls)
        if role.spec.orderly:
            _add_order(view, queue, process_queue, consumer)
        shown[_name(queue, one_broker)] = view
    return shown


def _name(queue: MessageQueue, one_broker: bool) -> str:
    return f"{queue.topic}@{queue.queue_id}" if one_broker else f"{queue.topic}@{queue.broker_name}@{queue.queue_id}"


def _add_order(
    view: WorldProcessQueue, queue: MessageQueue, process_queue: ProcessQueue, consumer: DefaultMQPushConsumer
) -> None:
    """Add to ``view`` what keeps the queue in order."""
    service = consumer.consume_service
    request = service.slices.get(queue) if isinstance(service, ConsumeMessageOrderlyService) else None
    view["local_lock"] = _local_lock(queue, consumer.message_queue_lock)
    view["consuming"] = process_queue.consuming
    view["slice_us"] = request.slice_began_us if request is not None else None


def _orphaned_locks(consumer: DefaultMQPushConsumer) -> dict[str, LocalLock]:
    """Return the held local locks of queues that this member no longer owns."""
    owned = consumer.process_queues
    locks = [(queue, lock) for queue, lock in consumer.message_queue_lock.locks.items() if lock.is_locked]
    one_broker = len({queue.broker_name for queue, _ in locks}) <= 1
    return {_name(queue, one_broker): _lock(lock) for queue, lock in locks if queue not in owned}


def _local_lock(queue: MessageQueue, message_queue_lock: MessageQueueLock) -> LocalLock:
    lock = message_queue_lock.locks.get(queue)
    # The lock has not been requested yet.
    return {"owner": None, "waiter_count": 0, "on": message_queue_lock.enabled} if lock is None else _lock(lock)


def _lock(lock: EngineLock) -> LocalLock:
    return {"owner": lock.owner, "waiter_count": len(lock.waiters), "on": lock.enabled}


def _process_queue(
    queue: MessageQueue, process_queue: ProcessQueue, consumer: DefaultMQPushConsumer, begin_ms: int, pulls: set[str]
) -> WorldProcessQueue:
    waiting, in_hand = process_queue.msg_tree_map, process_queue.consuming_msg_orderly_tree_map
    consume_offset = consumer.offset_store.offset_in_memory(queue)
    greatest = process_queue.queue_offset_max
    return {
        "topic": queue.topic,
        "broker": queue.broker_name,
        "queue_id": queue.queue_id,
        "tree": message_tree(waiting, TREE_NODES_SHOWN),
        "consuming_tree": message_tree(in_hand, TREE_NODES_SHOWN),
        "waiting": _held(waiting),
        "in_hand": _held(in_hand),
        "message_count": process_queue.msg_count,
        "cached_bytes": process_queue.msg_size,
        "dropped": process_queue.dropped,
        "locked": process_queue.locked,
        "locked_us": world_us(process_queue.last_lock_timestamp, begin_ms),
        "lock_lease_ms": process_queue.lock_max_live_time_ms,
        "consume_offset": consume_offset,
        "next_pull_offset": greatest + 1 if greatest or process_queue.msg_count else consume_offset,
        "last_pull_us": world_us(process_queue.last_pull_timestamp, begin_ms),
        "last_consume_us": world_us(process_queue.last_consume_timestamp, begin_ms),
        "pull_in_flight": f"{queue.topic} {queue.broker_name} {queue.queue_id}" in pulls,
        "consume_lock": _lock(process_queue.consume_lock),
        "local_lock": None,
        "consuming": None,
        "flow_control": process_queue.flow_control,
        "flow_control_times": dict(process_queue.flow_control_times),
        "try_unlock_times": process_queue.try_unlock_times,
        "slice_us": None,
        "slice_ms": consumer.config.max_time_consume_continuously_ms,
    }


def _held(tree: RedBlackTree[MessageExt]) -> HeldMessages:
    return {"count": len(tree), "first": tree.first_key(), "last": tree.last_key()}
