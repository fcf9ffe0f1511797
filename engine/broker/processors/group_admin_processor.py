"""Consumer groups and their progress, as tools see them (RocketMQ: part of ``AdminBrokerProcessor``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.broker.foundation.broker_address import BrokerAddress
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.broker_stats_manager import BrokerStatsManager
from engine.broker.foundation.store_lookups import message_store_time
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.broker.tables.subscription_group_manager import SubscriptionGroupManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.protocol.body.admin_bodies import ConsumeStatsList, QueueTimeSpan
from engine.protocol.body.bodies import AwaitedOffsetWrapper, ConsumeStats, OffsetWrapper
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
from engine.protocol.enums import MessageModel
from engine.protocol.json_form.json_text import dumps_json, loads_json_object
from engine.protocol.names import validate_group
from engine.protocol.request_code import RequestCode
from engine.remoting.processor import answers
from engine.runtime.port import Clock
from engine.store.message_store import MessageStore


@dataclass(frozen=True)
class GroupAdminProcessor:
    """The processor of codes 200, 201, 207, 208, 303 and 317."""

    config: BrokerConfig
    address: BrokerAddress
    clock: Clock
    store: MessageStore
    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    offsets: ConsumerOffsetManager
    consumers: ConsumerManager
    stats: BrokerStatsManager

    # ------------------------------------------------------------------------------ configuration

    @answers(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, RemotingCommand)
    async def update_and_create_subscription_group(self, request: RemotingCommand) -> None:
        """Create or change a group (code 200)."""
        config = SubscriptionGroupConfig.from_dict(loads_json_object(request.body, "a group configuration"))
        await self.groups.update_subscription_group_config(config)

    @answers(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
    def get_all_subscription_group(self) -> bytes:
        """Return all groups with the version of the table (code 201)."""
        return dumps_json(self.groups.table.to_dict())

    @answers(RequestCode.DELETE_SUBSCRIPTIONGROUP, DeleteSubscriptionGroupRequestHeader)
    async def delete_subscription_group(self, header: DeleteSubscriptionGroupRequestHeader) -> None:
        """Delete a group, and its stored offsets if requested (code 207).

        An unknown group counts as deleted, as in RocketMQ; one whose members are online is created again by their next
        heartbeat or pull, if that is allowed.
        """
        group = header.group_name
        validate_group(group)
        await self.groups.delete_subscription_group_config(group)
        if header.remove_offset:
            self.offsets.remove_group(group)
            await self.offsets.persist()
        self.stats.forget_group(group)

    # ------------------------------------------------------------------------------ progress

    @answers(RequestCode.GET_CONSUME_STATS, GetConsumeStatsRequestHeader)
    def get_consume_stats(self, header: GetConsumeStatsRequestHeader) -> ConsumeStats:
        """Return the offsets of the broker and the group per queue (code 208)."""
        group = header.consumer_group
        topics = [header.topic] if header.topic else self.offsets.topics_of_group(group)
        stats = ConsumeStats({}, 0.0)
        if self.groups.is_broadcasting(group):
            stats.message_model = MessageModel.BROADCASTING
        for topic in topics:
            config = self._consumed_topic(group, topic)
            if config is not None:
                self._add_topic(stats, group, config, config.read_queue_nums)
        return stats

    @answers(RequestCode.GET_BROKER_CONSUME_STATS, GetConsumeStatsInBrokerHeader)
    def get_broker_consume_stats(self, header: GetConsumeStatsInBrokerHeader) -> ConsumeStatsList:
        """Return the consume statistics of all groups, per topic (code 317)."""
        groups = {
            group: self._stats_by_topic(group, only_ordered=header.is_order)
            for group in self.groups.subscription_group_table
        }
        return ConsumeStatsList(groups, self.address.text)

    def _stats_by_topic(self, group: str, *, only_ordered: bool) -> Sequence[ConsumeStats]:
        found = []
        for topic in self.offsets.topics_of_group(group):
            config = self._consumed_topic(group, topic)
            if config is not None and (config.order or not only_ordered):
                stats = ConsumeStats({}, 0.0)
                self._add_topic(stats, group, config, config.write_queue_nums)
                found.append(stats)
        return found

    def _consumed_topic(self, group: str, topic: str) -> TopicConfig | None:
        """Return the topic; None if it is deleted or the group's members no longer subscribe to it."""
        config = self.topics.topic_config_table.get(topic)
        info = self.consumers.get_consumer_group_info(group)
        if info is not None and info.subscription_table and topic not in info.subscription_table:
            return None
        return config

    def _add_topic(self, stats: ConsumeStats, group: str, config: TopicConfig, queue_nums: int) -> None:
        topic = config.topic_name
        for queue_id in range(queue_nums):
            broker_offset = max(0, self.store.max_offset(topic, queue_id))
            consumer_offset = max(0, self.offsets.query_offset(group, topic, queue_id))
            last_ms = 0
            if consumer_offset > 0:
                last_ms = max(0, message_store_time(self.store, topic, queue_id, consumer_offset - 1))
            queue = MessageQueue(topic, self.config.broker_name, queue_id)
            is_awaited = self.offsets.resets.is_awaited(group, topic, queue_id)
            wrapper = AwaitedOffsetWrapper if is_awaited else OffsetWrapper
            stats.offset_table[queue] = wrapper(broker_offset, consumer_offset, last_ms)
        stats.consume_tps += self.stats.group_get_tps(topic, group)

    @answers(RequestCode.QUERY_CONSUME_TIME_SPAN, QueryConsumeTimeSpanRequestHeader)
    def query_consume_time_span(self, header: QueryConsumeTimeSpanRequestHeader) -> bytes:
        """Return the store times of a topic's messages and of those that the group consumed, per queue (code 303)."""
        spans = [
            self._time_span(header.group, MessageQueue(header.topic, self.config.broker_name, queue_id))
            for queue_id in range(self.topics.known_topic(header.topic).write_queue_nums)
        ]
        return dumps_json({"consumeTimeSpanSet": [span.to_dict() for span in spans]})

    def _time_span(self, group: str, queue: MessageQueue) -> QueueTimeSpan:
        store, topic, queue_id = self.store, queue.topic, queue.queue_id
        offset = self.offsets.query_offset(group, topic, queue_id)
        max_offset = store.max_offset(topic, queue_id)
        oldest_ms = store.earliest_message_time(topic, queue_id)
        consumed_ms = message_store_time(store, topic, queue_id, offset - 1) if offset > 0 else oldest_ms
        delay_ms = 0
        if offset < max_offset:
            # RocketMQ asks for message -1 when the group has no offset, and answers with the age of the year 1970.
            next_ms = message_store_time(store, topic, queue_id, max(offset, store.min_offset(topic, queue_id)))
            delay_ms = max(0, self.clock.now_ms() - next_ms) if next_ms >= 0 else 0
        newest_ms = message_store_time(store, topic, queue_id, max_offset - 1)
        return QueueTimeSpan(queue, oldest_ms, newest_ms, consumed_ms, delay_ms)
