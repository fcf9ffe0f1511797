"""Consumer groups and how far they are, as tools see them (RocketMQ: part of ``AdminBrokerProcessor``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.broker.foundation.store_lookups import message_store_time
from engine.protocol.body.admin_bodies import ConsumeStatsList, QueueTimeSpan
from engine.protocol.body.bodies import ConsumeStats, OffsetWrapper
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_group_config import SubscriptionGroupConfig
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.command.headers import (
    DeleteSubscriptionGroupRequestHeader,
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import dumps_json, loads_json_object
from engine.protocol.names import validate_group
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel

if TYPE_CHECKING:
    from engine.broker.broker import Broker


class GroupAdminProcessor:
    """Codes 200, 201, 207, 208, 303 and 317."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    # ------------------------------------------------------------------------------ configuration

    async def update_and_create_subscription_group(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 200."""
        config = SubscriptionGroupConfig.from_dict(loads_json_object(request.body, "a group configuration"))
        await self._broker.subscription_group_manager.update_subscription_group_config(config)
        return request.reply(ResponseCode.SUCCESS)

    def get_all_subscription_group(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 201: all groups with the version of the table."""
        return request.reply(
            ResponseCode.SUCCESS, body=dumps_json(self._broker.subscription_group_manager.table.to_dict())
        )

    async def delete_subscription_group(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 207, on request with the stored offsets. A group that nobody knows counts as deleted, as in RocketMQ;
        one whose members are online is created again by their next heartbeat or pull, if that is allowed.
        """
        header = DeleteSubscriptionGroupRequestHeader.decode(request.ext_fields)
        group = header.group_name
        validate_group(group)
        await self._broker.subscription_group_manager.delete_subscription_group_config(group)
        if header.remove_offset:
            self._broker.consumer_offset_manager.remove_group(group)
            await self._broker.consumer_offset_manager.persist()
        self._broker.stats.forget_group(group)
        return request.reply(ResponseCode.SUCCESS)

    # ------------------------------------------------------------------------------ progress

    def get_consume_stats(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 208: per queue how far the broker and the group are."""
        header = GetConsumeStatsRequestHeader.decode(request.ext_fields)
        group = header.consumer_group
        topics = [header.topic] if header.topic else self._broker.consumer_offset_manager.topics_of_group(group)
        stats = ConsumeStats({}, 0.0)
        for topic in topics:
            config = self._consumed_topic(group, topic)
            if config is not None:
                self._add_topic(stats, group, config, config.read_queue_nums)
        return request.reply(ResponseCode.SUCCESS, body=stats.to_json())

    def get_broker_consume_stats(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 317: the same of all groups, per topic."""
        is_order = GetConsumeStatsInBrokerHeader.decode(request.ext_fields).is_order
        groups = {
            group: self._stats_by_topic(group, only_ordered=is_order)
            for group in self._broker.subscription_group_manager.subscription_group_table
        }
        body = ConsumeStatsList(groups, self._broker.address)
        return request.reply(ResponseCode.SUCCESS, body=body.to_json())

    def _stats_by_topic(self, group: str, *, only_ordered: bool) -> Sequence[ConsumeStats]:
        found = []
        for topic in self._broker.consumer_offset_manager.topics_of_group(group):
            config = self._consumed_topic(group, topic)
            if config is not None and (config.order or not only_ordered):
                stats = ConsumeStats({}, 0.0)
                self._add_topic(stats, group, config, config.write_queue_nums)
                found.append(stats)
        return found

    def _consumed_topic(self, group: str, topic: str) -> TopicConfig | None:
        """The topic, None when it is gone or when the group's members have given it up."""
        config = self._broker.topic_config_manager.topic_config_table.get(topic)
        info = self._broker.consumer_manager.get_consumer_group_info(group)
        if info is not None and info.subscription_table and topic not in info.subscription_table:
            return None
        return config

    def _add_topic(self, stats: ConsumeStats, group: str, config: TopicConfig, queue_nums: int) -> None:
        broker, topic = self._broker, config.topic_name
        for queue_id in range(queue_nums):
            broker_offset = max(0, broker.store.max_offset(topic, queue_id))
            consumer_offset = max(0, broker.consumer_offset_manager.query_offset(group, topic, queue_id))
            last_ms = 0
            if consumer_offset > 0:
                last_ms = max(0, message_store_time(broker.store, topic, queue_id, consumer_offset - 1))
            queue = MessageQueue(topic, broker.config.broker_name, queue_id)
            stats.offset_table[queue] = OffsetWrapper(broker_offset, consumer_offset, last_ms)
        stats.consume_tps += broker.stats.group_get_tps(topic, group)

    def query_consume_time_span(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 303: store times of what a topic holds and of what the group consumed, queue by queue."""
        header = QueryConsumeTimeSpanRequestHeader.decode(request.ext_fields)
        config = self._broker.topic_config_manager.topic_config_table.get(header.topic)
        if config is None:
            return request.reply(ResponseCode.TOPIC_NOT_EXIST, f"topic {header.topic!r} does not exist on this broker")
        spans = [
            self._time_span(header.group, MessageQueue(header.topic, self._broker.config.broker_name, queue_id))
            for queue_id in range(config.write_queue_nums)
        ]
        body = dumps_json({"consumeTimeSpanSet": [span.to_dict() for span in spans]})
        return request.reply(ResponseCode.SUCCESS, body=body)

    def _time_span(self, group: str, queue: MessageQueue) -> QueueTimeSpan:
        store, topic, queue_id = self._broker.store, queue.topic, queue.queue_id
        offset = self._broker.consumer_offset_manager.query_offset(group, topic, queue_id)
        max_offset = store.max_offset(topic, queue_id)
        oldest_ms = store.earliest_message_time(topic, queue_id)
        consumed_ms = message_store_time(store, topic, queue_id, offset - 1) if offset > 0 else oldest_ms
        delay_ms = 0
        if offset < max_offset:
            # RocketMQ asks for message -1 when the group has no offset, and answers with the age of the year 1970.
            next_ms = message_store_time(store, topic, queue_id, max(offset, store.min_offset(topic, queue_id)))
            delay_ms = max(0, self._broker.runtime.clock.now_ms() - next_ms) if next_ms >= 0 else 0
        newest_ms = message_store_time(store, topic, queue_id, max_offset - 1)
        return QueueTimeSpan(queue, oldest_ms, newest_ms, consumed_ms, delay_ms)
