"""Topics, as tools see them (RocketMQ: part of ``AdminBrokerProcessor``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.delivery.topic_deletion import TopicDeletion
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.broker_registration import BrokerRegistration
from engine.broker.foundation.store_lookups import message_store_time
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.protocol.body.bodies import TopicList, TopicOffset, TopicStatsTable
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.command.headers import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.names import validate_topic
from engine.protocol.request_code import RequestCode
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.runtime.port import DiskFault
from engine.store.message_store import MessageStore


@dataclass(frozen=True)
class TopicAdminProcessor:
    """The processor of codes 17, 21, 202, 215, 300, 305 and 316."""

    config: BrokerConfig
    store: MessageStore
    topics: TopicConfigManager
    offsets: ConsumerOffsetManager
    consumers: ConsumerManager
    registration: BrokerRegistration
    deletion: TopicDeletion

    @answers(RequestCode.UPDATE_AND_CREATE_TOPIC, CreateTopicRequestHeader)
    async def update_and_create_topic(self, header: CreateTopicRequestHeader) -> None:
        """Create or change a topic (code 17). The reply is sent once the name servers have the route."""
        self._check_name(header.topic)
        config = TopicConfig(
            header.topic,
            header.read_queue_nums,
            header.write_queue_nums,
            header.perm,
            header.topic_filter_type,
            header.topic_sys_flag or 0,
            header.order,
        )
        await self.topics.update_topic_config(config)
        await self.registration.registered()

    def _check_name(self, topic: str) -> None:
        """Check a topic name. Raises ``IllegalName`` and :class:`RequestRefused`."""
        validate_topic(topic)
        if self.topics.is_system_topic(topic):
            raise RequestRefused(f"topic {topic} belongs to the system: nobody may change it")

    @answers(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader)
    async def delete_topic(self, header: DeleteTopicRequestHeader) -> None:
        """Delete a topic (code 215). An unknown topic counts as deleted, as in RocketMQ."""
        self._check_name(header.topic)
        try:
            await self.deletion.delete_topic(header.topic)
        except DiskFault as fault:
            why = f"topic {header.topic} may come back at the next start: {fault}"
            raise RequestRefused(why) from fault

    @answers(RequestCode.CLEAN_UNUSED_TOPIC)
    async def clean_unused_topic(self) -> None:
        """Delete the consume queues of topics that are not configured (code 316)."""
        try:
            await self.deletion.clean_unused_topics()
        except DiskFault as fault:
            why = f"unused topics may come back at the next start: {fault}"
            raise RequestRefused(why) from fault

    @answers(RequestCode.GET_ALL_TOPIC_CONFIG)
    def get_all_topic_config(self) -> bytes:
        """Return all topics with the version of the table (code 21)."""
        return dumps_json(self.topics.to_wrapper().to_dict())

    @answers(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
    def get_system_topic_list(self) -> TopicList:
        """Return the topics that cannot be changed (code 305)."""
        return TopicList(tuple(self.topics.system_topics()))

    @answers(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, QueryTopicConsumeByWhoRequestHeader)
    def query_topic_consume_by_who(self, header: QueryTopicConsumeByWhoRequestHeader) -> bytes:
        """Return the groups that consume or have consumed a topic (code 300). mqadmin uses it to report a message's
        consumption.
        """
        groups = [*self.consumers.groups_of_topic(header.topic), *self.offsets.groups_of_topic(header.topic)]
        return dumps_json({"groupList": list(dict.fromkeys(groups))})

    @answers(RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsInfoRequestHeader)
    def get_topic_stats_info(self, header: GetTopicStatsInfoRequestHeader) -> TopicStatsTable:
        """Return the offsets of every queue and the store time of its newest message (code 202)."""
        topic, store, table = header.topic, self.store, TopicStatsTable({})
        for queue_id in range(self.topics.known_topic(topic).write_queue_nums):
            max_offset = max(0, store.max_offset(topic, queue_id))
            min_offset = max(0, store.min_offset(topic, queue_id))
            updated_ms = message_store_time(store, topic, queue_id, max_offset - 1) if max_offset > 0 else 0
            queue = MessageQueue(topic, self.config.broker_name, queue_id)
            table.offset_table[queue] = TopicOffset(min_offset, max_offset, max(0, updated_ms))
        return table
