"""Topics, as tools see them (RocketMQ: part of ``AdminBrokerProcessor``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.broker.delivery.topic_deletion import clean_unused_topics, delete_topic
from engine.broker.foundation.errors import RequestRefused
from engine.broker.foundation.store_lookups import message_store_time
from engine.protocol.body.bodies import TopicList, TopicOffset, TopicStatsTable
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.command.headers import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.names import validate_topic
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.runtime.port import DiskFault

if TYPE_CHECKING:
    from engine.broker.broker import Broker


class TopicAdminProcessor:
    """Codes 17, 21, 202, 215, 300, 305 and 316."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def update_and_create_topic(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 17. Once it is answered, the name servers have the route."""
        header = CreateTopicRequestHeader.decode(request.ext_fields)
        try:
            self._check_name(header.topic)
        except RequestRefused as refusal:
            return refusal.reply_to(request)
        config = TopicConfig(
            header.topic,
            header.read_queue_nums,
            header.write_queue_nums,
            header.perm,
            header.topic_filter_type,
            header.topic_sys_flag or 0,
            header.order,
        )
        await self._broker.topic_config_manager.update_topic_config(config)
        await self._broker.registration.told()
        return request.reply(ResponseCode.SUCCESS)

    def _check_name(self, topic: str) -> None:
        """Raises ``IllegalName`` and :class:`RequestRefused`."""
        validate_topic(topic)
        if self._broker.topic_config_manager.is_system_topic(topic):
            raise RequestRefused(
                ResponseCode.SYSTEM_ERROR, f"topic {topic} belongs to the system: nobody may change it"
            )

    async def delete_topic(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 215. A topic that nobody knows counts as deleted, as in RocketMQ."""
        topic = DeleteTopicRequestHeader.decode(request.ext_fields).topic
        try:
            self._check_name(topic)
            await delete_topic(self._broker, topic)
        except RequestRefused as refusal:
            return refusal.reply_to(request)
        except DiskFault as fault:
            return request.reply(ResponseCode.SYSTEM_ERROR, f"topic {topic} may come back at the next start: {fault}")
        return request.reply(ResponseCode.SUCCESS)

    async def clean_unused_topic(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 316: delete the consume queues of topics that are not configured."""
        try:
            await clean_unused_topics(self._broker)
        except DiskFault as fault:
            return request.reply(ResponseCode.SYSTEM_ERROR, f"unused topics may come back at the next start: {fault}")
        return request.reply(ResponseCode.SUCCESS)

    def get_all_topic_config(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 21: all topics with the version of the table."""
        body = dumps_json(self._broker.topic_config_manager.to_wrapper().to_dict())
        return request.reply(ResponseCode.SUCCESS, body=body)

    def get_system_topic_list(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 305: topics that nobody may change."""
        topics = self._broker.topic_config_manager.system_topics()
        return request.reply(ResponseCode.SUCCESS, body=TopicList(tuple(topics)).to_json())

    def query_topic_consume_by_who(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 300: the groups that consume a topic or once did. mqadmin asks it to say what became of a message."""
        topic = QueryTopicConsumeByWhoRequestHeader.decode(request.ext_fields).topic
        groups = dict.fromkeys(self._broker.consumer_manager.groups_of_topic(topic))
        groups.update(dict.fromkeys(self._broker.consumer_offset_manager.groups_of_topic(topic)))
        return request.reply(ResponseCode.SUCCESS, body=dumps_json({"groupList": list(groups)}))

    def get_topic_stats_info(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 202: offsets of every queue, and when its newest message was stored."""
        topic = GetTopicStatsInfoRequestHeader.decode(request.ext_fields).topic
        config = self._broker.topic_config_manager.topic_config_table.get(topic)
        if config is None:
            return request.reply(ResponseCode.TOPIC_NOT_EXIST, f"topic {topic!r} does not exist on this broker")
        store = self._broker.store
        table = TopicStatsTable({})
        for queue_id in range(config.write_queue_nums):
            max_offset = max(0, store.max_offset(topic, queue_id))
            min_offset = max(0, store.min_offset(topic, queue_id))
            updated_ms = message_store_time(store, topic, queue_id, max_offset - 1) if max_offset > 0 else 0
            queue = MessageQueue(topic, self._broker.config.broker_name, queue_id)
            table.offset_table[queue] = TopicOffset(min_offset, max_offset, max(0, updated_ms))
        return request.reply(ResponseCode.SUCCESS, body=table.to_json())
