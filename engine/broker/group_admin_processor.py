"""Groups and their members, as tools see them (RocketMQ: part of ``AdminBrokerProcessor``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.broker.client_channel_info import ClientChannelInfo
from engine.broker.store_lookups import message_store_time
from engine.protocol.bodies import (
    ClientConnection,
    ConsumerConnection,
    ConsumeStats,
    OffsetWrapper,
    ProducerConnection,
)
from engine.protocol.headers import (
    GetConsumerConnectionListRequestHeader,
    GetConsumeStatsRequestHeader,
    GetProducerConnectionListRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)
from engine.protocol.json_text import dumps_json, loads_json_object
from engine.protocol.message_queue import MessageQueue
from engine.protocol.remoting_command import RemotingCommand
from engine.protocol.response_code import ResponseCode
from engine.protocol.subscription_group_config import SubscriptionGroupConfig
from engine.remoting.channel import Channel

if TYPE_CHECKING:
    from engine.broker.broker import Broker


class GroupAdminProcessor:
    """Codes 200, 203, 204, 208 and 300."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def update_and_create_subscription_group(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 200."""
        config = SubscriptionGroupConfig.from_dict(loads_json_object(request.body, "a group configuration"))
        self._broker.subscription_group_manager.update_subscription_group_config(config)
        return request.reply(ResponseCode.SUCCESS)

    def get_consumer_connection_list(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 203: members and subscriptions of a consumer group."""
        group = GetConsumerConnectionListRequestHeader.decode(request.ext_fields).consumer_group
        info = self._broker.consumer_manager.get_consumer_group_info(group)
        if info is None:
            return request.reply(ResponseCode.CONSUMER_NOT_ONLINE, f"no consumer of group {group!r} is connected")
        body = ConsumerConnection(
            connections(info.channel_info_table.values()),
            info.subscription_table,
            info.consume_type,
            info.message_model,
            info.consume_from_where,
        )
        return request.reply(ResponseCode.SUCCESS, body=body.to_json())

    def get_producer_connection_list(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 204: members of a producer group."""
        group = GetProducerConnectionListRequestHeader.decode(request.ext_fields).producer_group
        clients = self._broker.producer_manager.clients_of_group(group)
        if not clients:
            return request.reply(ResponseCode.SYSTEM_ERROR, f"no producer of group {group!r} is connected")
        return request.reply(ResponseCode.SUCCESS, body=ProducerConnection(connections(clients)).to_json())

    def get_consume_stats(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 208: per queue how far the broker and the group are."""
        header = GetConsumeStatsRequestHeader.decode(request.ext_fields)
        group = header.consumer_group
        topics = [header.topic] if header.topic else self._broker.consumer_offset_manager.topics_of_group(group)
        stats = ConsumeStats({}, 0.0)
        for topic in topics:
            self._add_topic(stats, group, topic)
        return request.reply(ResponseCode.SUCCESS, body=stats.to_json())

    def _add_topic(self, stats: ConsumeStats, group: str, topic: str) -> None:
        broker = self._broker
        config = broker.topic_config_manager.topic_config_table.get(topic)
        if config is None:
            return
        info = broker.consumer_manager.get_consumer_group_info(group)
        if info is not None and info.subscription_table and topic not in info.subscription_table:
            return  # offsets of a topic that the group has given up
        for queue_id in range(config.read_queue_nums):
            broker_offset = max(0, broker.store.max_offset(topic, queue_id))
            consumer_offset = max(0, broker.consumer_offset_manager.query_offset(group, topic, queue_id))
            last_ms = 0
            if consumer_offset > 0:
                last_ms = max(0, message_store_time(broker.store, topic, queue_id, consumer_offset - 1))
            queue = MessageQueue(topic, broker.config.broker_name, queue_id)
            stats.offset_table[queue] = OffsetWrapper(broker_offset, consumer_offset, last_ms)
        stats.consume_tps += broker.stats.group_get_tps(topic, group)

    def query_topic_consume_by_who(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 300: the groups that consume a topic or once did. mqadmin asks it to say what became of a message."""
        topic = QueryTopicConsumeByWhoRequestHeader.decode(request.ext_fields).topic
        groups = dict.fromkeys(self._broker.consumer_manager.groups_of_topic(topic))
        groups.update(dict.fromkeys(self._broker.consumer_offset_manager.groups_of_topic(topic)))
        return request.reply(ResponseCode.SUCCESS, body=dumps_json({"groupList": list(groups)}))


def connections(clients: Iterable[ClientChannelInfo]) -> list[ClientConnection]:
    """The clients as tools are shown them."""
    return [
        ClientConnection(client.client_id, client.channel.remote_address, client.language_name, client.version)
        for client in clients
    ]
