"""The running info of a push consumer for tools (RocketMQ: ``ConsumerRunningInfo``, ``ProcessQueueInfo``)."""

from __future__ import annotations

import dataclasses

from engine.client.consumer.default_mq_push_consumer_impl import DefaultMQPushConsumerImpl
from engine.client.foundation.client_config import ClientConfig
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.client.queues.message_tree import message_tree
from engine.client.queues.process_queue import ProcessQueue
from engine.protocol.enums import PROTOCOL_VERSION, ConsumeType
from engine.protocol.json_form.json_text import ObjectKeyMap, dumps_json
from engine.runtime.engine_lock import EngineLock

_MIB = 1 << 20
JsonDict = dict[str, object]
#: The property that contains the result of :func:`process_queues_internals` as JSON text. RocketMQ's tools ignore it.
INTERNALS_PROPERTY = "GLASSMQ_PROCESS_QUEUES"
#: Whether the consumer is suspended ("true", "false"), and how many queues wait for the end of a reset.
SUSPENDED_PROPERTY = "GLASSMQ_SUSPENDED"
QUEUES_IN_RESET_PROPERTY = "GLASSMQ_QUEUES_IN_RESET"
#: Why the offsets of a broadcasting member cannot be written, or :data:`OFFSETS_WRITTEN`.
OFFSETS_FILE_PROPERTY = "GLASSMQ_OFFSETS_FILE"
OFFSETS_WRITTEN = "written"
#: The maximum number of nodes of one tree, of which the upper levels are reported, and of all trees in one reply.
TREE_NODES_MAX = 63
ANSWER_NODES_MAX = 1_024


def process_queue_info(process_queue: ProcessQueue, committed_offset: int | None) -> JsonDict:
    """Return one queue's info under RocketMQ's names (including its spelling of "droped").

    ``flowControl`` and ``flowControlTimes`` are additions: why the queue is not pulled at present, and how many times
    that happened.
    """
    waiting = process_queue.msg_tree_map
    consuming = process_queue.consuming_msg_orderly_tree_map
    return {
        "commitOffset": -1 if committed_offset is None else committed_offset,
        "cachedMsgMinOffset": waiting.first_key() or 0,
        "cachedMsgMaxOffset": waiting.last_key() or 0,
        "cachedMsgCount": len(waiting),
        "cachedMsgSizeInMiB": process_queue.msg_size // _MIB,
        "transactionMsgMinOffset": consuming.first_key() or 0,
        "transactionMsgMaxOffset": consuming.last_key() or 0,
        "transactionMsgCount": len(consuming),
        "locked": process_queue.locked,
        "tryUnlockTimes": process_queue.try_unlock_times,
        "lastLockTimestamp": process_queue.last_lock_timestamp,
        "droped": process_queue.dropped,
        "lastPullTimestamp": process_queue.last_pull_timestamp,
        "lastConsumeTimestamp": process_queue.last_consume_timestamp,
        "flowControl": process_queue.flow_control,
        "flowControlTimes": dict(process_queue.flow_control_times),
    }


def process_queues_internals(consumer: DefaultMQPushConsumerImpl) -> dict[str, JsonDict]:
    """Return, by ``topic@broker@queue id``, what only this client reports: trees (``message_tree``) and owners of local
    locks.
    """
    nodes_left = ANSWER_NODES_MAX
    reported: dict[str, JsonDict] = {}
    for queue, process_queue in sorted(consumer.rebalance.process_queue_table.items()):
        waiting, in_hand = process_queue.msg_tree_map, process_queue.consuming_msg_orderly_tree_map
        of_waiting = min(TREE_NODES_MAX, nodes_left)
        nodes_left -= min(of_waiting, len(waiting))
        of_in_hand = min(TREE_NODES_MAX, nodes_left)
        nodes_left -= min(of_in_hand, len(in_hand))
        local_lock = consumer.message_queue_lock.locks.get(queue)
        reported[f"{queue.topic}@{queue.broker_name}@{queue.queue_id}"] = {
            "msgTreeMap": message_tree(waiting, of_waiting) if of_waiting else None,
            "consumingMsgOrderlyTreeMap": message_tree(in_hand, of_in_hand) if of_in_hand else None,
            "consuming": process_queue.consuming,
            "lockMaxLiveTime": process_queue.lock_max_live_time_ms,
            "consumeLock": _lock(process_queue.consume_lock),
            "localLock": None if local_lock is None else _lock(local_lock),
        }
    return reported


def _lock(lock: EngineLock) -> JsonDict:
    return {"owner": lock.owner, "waiters": len(lock.waiters)}


def consumer_running_info(
    consumer: DefaultMQPushConsumerImpl,
    config: PushConsumerConfig,
    client_config: ClientConfig,
    now_ms: int,
    *,
    with_internals: bool = False,
) -> bytes:
    """Return the body of the reply to 307; ``with_internals`` adds the result of :func:`process_queues_internals`."""
    properties = {
        field.name: str(getattr(config, field.name))
        for field in dataclasses.fields(config)
        if field.name != "allocate_strategy"
    }
    properties |= {
        "consumerGroup": consumer.group,
        "allocateMessageQueueStrategy": config.allocate_strategy.name,
        "PROP_CONSUMEORDERLY": str(consumer.consume_service.is_orderly).lower(),
        "PROP_THREADPOOL_CORE_SIZE": str(consumer.consume_service.core_pool_size),
        "PROP_CONSUMER_START_TIMESTAMP": str(consumer.stats.started_ms),
        "PROP_NAMESERVER_ADDR": ";".join(client_config.name_server_addresses),
        "PROP_CONSUME_TYPE": ConsumeType.CONSUME_PASSIVELY.value,
        "PROP_CLIENT_VERSION": str(PROTOCOL_VERSION),
        SUSPENDED_PROPERTY: str(consumer.paused).lower(),
        QUEUES_IN_RESET_PROPERTY: str(len(consumer.offset_resets.pending)),
    }
    properties |= {name: value() for name, value in consumer.reported.items()}
    if with_internals:
        properties[INTERNALS_PROPERTY] = dumps_json(process_queues_internals(consumer)).decode()
    queues: list[tuple[JsonDict, object]] = [
        (queue.to_dict(), process_queue_info(process_queue, consumer.offset_store.offset_in_memory(queue)))
        for queue, process_queue in sorted(consumer.rebalance.process_queue_table.items())
    ]
    return dumps_json(
        {
            "properties": properties,
            "subscriptionSet": [data.to_dict() for data in consumer.rebalance.subscriptions.values()],
            "mqTable": ObjectKeyMap(queues),
            "statusTable": consumer.stats.status_table(now_ms),
        }
    )
