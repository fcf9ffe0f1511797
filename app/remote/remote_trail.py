"""Follows a message through the copies that brokers store (:mod:`app.observation.message_trail`).

Every copy is found by the index, as mqadmin's queryMsgByUniqueKey would in one topic after the other; the progress of
groups comes from the answers to QUERY_TOPIC_CONSUME_BY_WHO (300) and QUERY_CONSUMER_OFFSET (14), the subscriptions of
online groups from GET_CONSUMER_CONNECTION_LIST (203).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from app.observation.bounds import client_text
from app.observation.message_trail import TRAILS_MAX, Subscription, TrailFacts, trail_of
from app.remote.remote_broker import RemoteBroker
from engine.broker.delivery.dead_letter import COPIES_MAX
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.question import group_offset
from engine.protocol.command.admin_headers import QueryTopicConsumeByWhoRequestHeader
from engine.protocol.enums import ExpressionType
from engine.protocol.json_form.json_text import loads_json_object
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_copies import destination, first_topic, group_of_copy, identity
from engine.protocol.message.message_id import place_of
from engine.protocol.names import (
    SCHEDULE_TOPIC,
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    group_of_retry_or_dlq_topic,
)
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.store.files.store_config import MessageStoreConfig

if TYPE_CHECKING:
    from app.picture.message_life import StoredMessageLife

#: Groups whose progress is requested.
GROUPS_MAX = 100


async def remote_trail(
    brokers: Mapping[str, RemoteBroker], topics: Iterable[str], message: MessageExt
) -> StoredMessageLife:
    """Return the life of ``message``, one copy of which was found.

    Raises an ``MQClientError`` when a broker does not answer.

    :param brokers: broker name -> broker.
    :param topics: all topics: those that have retries and dead letters are searched.
    """
    copies = await _copies(brokers, topics, message)
    committed: dict[tuple[str, str, str, int], int] = {}
    for copy in copies:
        broker = brokers[copy.broker_name or ""]
        for group in await _groups(broker, copy.topic):
            place = (group, copy.broker_name or "", copy.topic, copy.queue_id)
            if place in committed:
                continue
            queue = MessageQueue(copy.topic, copy.broker_name or "", copy.queue_id)
            offset = await broker.offset(group_offset(group, queue), "report the progress of a group")
            if offset is not None:
                committed[place] = offset
    return trail_of(copies, TrailFacts(committed, await _delay_levels(brokers), await _subscriptions(brokers, copies)))


async def messages_called(brokers: Mapping[str, RemoteBroker], topics: Iterable[str], name: str) -> list[MessageExt]:
    """Return the newest copy of each message with that unique id or key in ``topics``, or else at that offset message
    id; at most :data:`TRAILS_MAX`, the newest last.
    """
    found: list[MessageExt] = []
    for broker_name, broker in brokers.items():
        for topic in topics:
            found += _at(broker_name, await broker.called(topic, name, COPIES_MAX))
            await asyncio.sleep(0)  # let the clients run, where the broker is of this process
    if not found and (message := await message_with_id(brokers, name)) is not None:
        found.append(message)
    found.sort(key=lambda message: (message.store_timestamp, message.commit_log_offset))
    return list({identity(message): message for message in found}.values())[-TRAILS_MAX:]


async def message_with_id(brokers: Mapping[str, RemoteBroker], offset_message_id: str) -> MessageExt | None:
    """Return the message with that offset message id, from the first broker that has it; None if no broker does.

    The broker with the address in the id is asked first: to others the id may name the middle of a message.
    """
    address, _ = place_of(offset_message_id)
    for broker_name, broker in sorted(brokers.items(), key=lambda item: item[1].address != address):
        message = await broker.message_with_id(offset_message_id)
        if message is not None:
            message.broker_name = broker_name
            return message
    return None


def _at(broker_name: str, messages: list[MessageExt]) -> list[MessageExt]:
    for message in messages:
        message.broker_name = broker_name
    return messages


async def _copies(brokers: Mapping[str, RemoteBroker], topics: Iterable[str], message: MessageExt) -> list[MessageExt]:
    searched = dict.fromkeys(
        (first_topic(message), message.topic, SCHEDULE_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_CHECK_MAX_TIME_TOPIC)
    )
    searched.update(dict.fromkeys(topic for topic in topics if group_of_retry_or_dlq_topic(topic)))
    # Without a unique id all copies have the same first key, if any.
    name = message.unique_id or (message.keys[0] if message.keys else "")
    found: list[MessageExt] = []
    for broker_name, broker in brokers.items():
        for topic in searched if name else ():
            copies = _at(broker_name, await broker.called(topic, name, COPIES_MAX))
            found += [copy for copy in copies if identity(copy) == identity(message)]
            await asyncio.sleep(0)
        if message.broker_name is None and broker.address == message.store_host:
            message.broker_name = broker_name
    return found or [message]


async def _groups(broker: RemoteBroker, topic: str) -> list[str]:
    """Return the groups that may read the topic there."""
    group = group_of_retry_or_dlq_topic(topic)
    if group is not None:
        return [group]
    header = QueryTopicConsumeByWhoRequestHeader(topic)
    reply = await broker.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header, f"list the groups that read {topic}")
    if reply.code != ResponseCode.SUCCESS:
        return []
    groups = loads_json_object(reply.body, "group list").get("groupList")
    return [str(name) for name in groups[:GROUPS_MAX]] if isinstance(groups, list) else []


async def _subscriptions(brokers: Mapping[str, RemoteBroker], copies: list[MessageExt]) -> dict[str, Subscription]:
    """Return the online groups that subscribe to the message's topic."""
    topic = next((destination(copy) for copy in copies if group_of_copy(copy) is None), "")
    tag = copies[0].tags
    found: dict[str, Subscription] = {}
    for broker in brokers.values() if topic else ():
        for group in await _groups(broker, topic):
            data = await broker.subscription(group, topic)
            if data is not None:
                wants = data.matches_tag(tag) if data.expression_type == ExpressionType.TAG else None
                found[group] = Subscription(client_text(data.sub_string), wants)
    return found


async def _delay_levels(brokers: Mapping[str, RemoteBroker]) -> tuple[int, ...]:
    """Return the delay levels of the first broker; RocketMQ's default where that cannot be read."""
    for broker in brokers.values():
        levels = await broker.setting("messageDelayLevel")
        if levels is not None:
            try:
                return MessageStoreConfig(message_delay_level=levels).delay_levels_ms
            except ValueError:  # another broker may know other units
                continue
    return MessageStoreConfig().delay_levels_ms
