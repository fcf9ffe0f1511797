"""Topics, as tools see them (RocketMQ: part of ``AdminBrokerProcessor``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.broker.store_lookups import message_store_time
from engine.protocol.bodies import TopicOffset, TopicStatsTable
from engine.protocol.headers import CreateTopicRequestHeader, GetTopicStatsInfoRequestHeader
from engine.protocol.message_queue import MessageQueue
from engine.protocol.names import validate_topic
from engine.protocol.remoting_command import RemotingCommand
from engine.protocol.response_code import ResponseCode
from engine.protocol.topic_config import TopicConfig
from engine.remoting.channel import Channel

if TYPE_CHECKING:
    from engine.broker.broker import Broker


class TopicAdminProcessor:
    """Codes 17 and 202."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def update_and_create_topic(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 17."""
        header = CreateTopicRequestHeader.decode(request.ext_fields)
        validate_topic(header.topic)
        manager = self._broker.topic_config_manager
        if manager.is_system_topic(header.topic):
            return request.reply(
                ResponseCode.SYSTEM_ERROR, f"topic {header.topic} belongs to the system: nobody may change it"
            )
        config = TopicConfig(
            header.topic,
            header.read_queue_nums,
            header.write_queue_nums,
            header.perm,
            header.topic_filter_type,
            header.topic_sys_flag or 0,
            header.order,
        )
        manager.update_topic_config(config)
        return request.reply(ResponseCode.SUCCESS)

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
