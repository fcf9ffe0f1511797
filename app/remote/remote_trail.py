"""Follows a message through the copies on the brokers of a remote cluster: see app.observation.message_trail.

Every copy is found by the index, as mqadmin's queryMsgByUniqueKey would in one topic after the other; the progress of
groups comes from the answers to QUERY_TOPIC_CONSUME_BY_WHO (300) and QUERY_CONSUMER_OFFSET (14).
"""

from __future__ import annotations

from app.foundation.json_types import JsonObject
from app.observation.message_trail import TRAILS_MAX, TrailFacts, trail_of
from app.remote.cluster_reader import ClusterReader
from app.remote.remote_broker import RemoteBroker
from engine.broker.delivery.dead_letter import COPIES_MAX
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.question import group_offset
from engine.protocol.command.admin_headers import QueryTopicConsumeByWhoRequestHeader
from engine.protocol.json_form.json_text import loads_json_object
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_copies import first_topic, identity
from engine.protocol.names import (
    SCHEDULE_TOPIC,
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    group_of_retry_or_dlq_topic,
)
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.store.files.store_config import MessageStoreConfig

#: Groups whose progress is requested.
GROUPS_MAX = 100


async def remote_trail(reader: ClusterReader, message: MessageExt) -> JsonObject:
    """Return the trail of ``message``, one copy of which was found.

    Raises an ``MQClientError`` when no server answers.
    """
    brokers = {name: RemoteBroker(reader, address) for name, address in (await reader.broker_addresses()).items()}
    copies = await _copies(reader, brokers, message)
    committed: dict[tuple[str, str, str, int], int] = {}
    for copy in copies:
        broker = brokers[copy.broker_name or ""]
        for group in await _groups(broker, copy):
            place = (group, copy.broker_name or "", copy.topic, copy.queue_id)
            if place in committed:
                continue
            queue = MessageQueue(copy.topic, copy.broker_name or "", copy.queue_id)
            offset = await broker.offset(group_offset(group, queue), "report the progress of a group")
            if offset is not None:
                committed[place] = offset
    return trail_of(copies, TrailFacts(committed, await _delay_levels(brokers)))


async def messages_with_key(reader: ClusterReader, key: str, topic: str | None) -> list[MessageExt]:
    """Return the newest copy of each message with that key, at most :data:`TRAILS_MAX`, the newest last."""
    topics = [topic] if topic is not None else [*await reader.topics()]
    newest: dict[str, MessageExt] = {}
    for address in (await reader.broker_addresses()).values():
        broker = RemoteBroker(reader, address)
        for name in topics:
            for message in await broker.called(name, key, COPIES_MAX):
                known = newest.get(identity(message))
                if key in message.keys and (known is None or known.store_timestamp <= message.store_timestamp):
                    newest[identity(message)] = message
    return sorted(newest.values(), key=lambda message: message.store_timestamp)[-TRAILS_MAX:]


async def _copies(reader: ClusterReader, brokers: dict[str, RemoteBroker], message: MessageExt) -> list[MessageExt]:
    topics = dict.fromkeys(
        (first_topic(message), message.topic, SCHEDULE_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_CHECK_MAX_TIME_TOPIC)
    )
    topics.update(dict.fromkeys(topic for topic in await reader.topics() if group_of_retry_or_dlq_topic(topic)))
    # Without a unique id all copies have the same first key, if any.
    name = message.unique_id or (message.keys[0] if message.keys else "")
    found: list[MessageExt] = []
    for broker_name, broker in brokers.items():
        copies: list[MessageExt] = []
        for topic in topics if name else ():
            copies += await broker.called(topic, name, COPIES_MAX)
        if not name and broker.address == message.store_host:
            copies.append(message)
        for copy in copies:
            copy.broker_name = broker_name
        found += [copy for copy in copies if identity(copy) == identity(message)]
    return found


async def _groups(broker: RemoteBroker, copy: MessageExt) -> list[str]:
    """Return the groups that may read it there."""
    group = group_of_retry_or_dlq_topic(copy.topic)
    if group is not None:
        return [group]
    header = QueryTopicConsumeByWhoRequestHeader(copy.topic)
    reply = await broker.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header, f"list the groups that read {copy.topic}")
    if reply.code != ResponseCode.SUCCESS:
        return []
    groups = loads_json_object(reply.body, "group list").get("groupList")
    return [str(name) for name in groups[:GROUPS_MAX]] if isinstance(groups, list) else []


async def _delay_levels(brokers: dict[str, RemoteBroker]) -> tuple[int, ...]:
    """Return the delay levels of the first broker; RocketMQ's default where that cannot be read."""
    for broker in brokers.values():
        reply = await broker.ask(RequestCode.GET_BROKER_CONFIG, None, "report the delay levels")
        lines = reply.body.decode("utf-8", "replace").splitlines() if reply.code == ResponseCode.SUCCESS else []
        for line in lines:
            name, _, value = line.partition("=")
            if name == "messageDelayLevel":
                try:
                    return MessageStoreConfig(message_delay_level=value).delay_levels_ms
                except ValueError:  # another broker may know other units
                    break
    return MessageStoreConfig().delay_levels_ms
