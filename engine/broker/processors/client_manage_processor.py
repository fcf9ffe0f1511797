"""Heartbeats (RocketMQ: ``ClientManageProcessor``).

A heartbeat names every producer and consumer group of the client on this connection. It creates what is missing: the
group's configuration and its retry topic, which the name servers know when the reply comes.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from engine.broker.filters.expression_compiler import CompilerBusy
from engine.broker.filters.expression_message_filter import why_not_filtered_by
from engine.broker.tables.client_channel_info import ClientChannelInfo
from engine.broker.tables.topic_config_manager import TOPIC_SYS_FLAG_UNIT
from engine.filter.errors import FilterSyntaxError
from engine.protocol.body.bodies import CheckClientRequestBody
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.command.headers import UnregisterClientRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import ExpressionType
from engine.protocol.errors import MalformedBody
from engine.protocol.names import TOPIC_MAX_LENGTH, retry_topic, validate_group
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel

if TYPE_CHECKING:
    from engine.broker.broker import Broker

logger = logging.getLogger("glassmq.broker")

#: Longest client id. Real ones are "ip@pid#nanoTime@unit"; the bound keeps tables and reply bodies small.
_CLIENT_ID_MAX_LENGTH = 512
#: What a heartbeat says is kept as long as the client is connected.
_HEARTBEAT_MAX_BYTES = 1 << 20


class ClientManageProcessor:
    """Codes 34, 35 and 46."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._clock = broker.runtime.clock

    def heart_beat(self, channel: Channel, request: RemotingCommand) -> RemotingCommand | Awaitable[RemotingCommand]:
        """Code 34. All names and bounds are checked before anything is changed: code 1 says which one it was."""
        if len(request.body) > _HEARTBEAT_MAX_BYTES:
            raise MalformedBody(f"a heartbeat of {len(request.body)} bytes; allowed: {_HEARTBEAT_MAX_BYTES}")
        heartbeat = HeartbeatData.from_json(request.body)
        check_client_id(heartbeat.client_id)
        for consumer in heartbeat.consumers:
            validate_group(consumer.group_name)
        for group in heartbeat.producer_groups:
            validate_group(group)
        client = ClientChannelInfo(
            channel, heartbeat.client_id, request.language, request.version, self._clock.now_ms()
        )
        self._broker.consumer_manager.check_room(heartbeat.consumers, channel)
        self._broker.producer_manager.check_room(heartbeat.producer_groups, channel)
        registration = self._broker.registration
        changes_before = registration.changes
        for consumer in heartbeat.consumers:
            self._register_consumer(consumer, client)
        for group in heartbeat.producer_groups:
            self._broker.producer_manager.register_producer(group, client)
        reply = request.reply(ResponseCode.SUCCESS)
        return reply if registration.changes == changes_before else registration.answered_when_told(reply)

    def _register_consumer(self, consumer: ConsumerData, client: ClientChannelInfo) -> None:
        broker = self._broker
        group = consumer.group_name
        config = broker.subscription_group_manager.find_subscription_group_config(group)
        notify_members = broker.config.notify_consumer_ids_changed_enable
        if config is not None:
            notify_members = notify_members and config.notify_consumer_ids_changed_enable
            topic = retry_topic(group)
            if len(topic) <= TOPIC_MAX_LENGTH:
                broker.topic_config_manager.create_topic_in_send_message_back(
                    topic,
                    config.retry_queue_nums,
                    topic_sys_flag=TOPIC_SYS_FLAG_UNIT if consumer.unit_mode else 0,
                )
            else:
                logger.warning("group %s gets no retry topic: its name would be too long", group)
        broker.consumer_manager.register_consumer(consumer, client, notify_members=notify_members)
        broker.consumer_filter_manager.register(group, consumer.subscriptions)

    def unregister_client(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 35. C++ clients send an empty name for the group they do not mean."""
        header = UnregisterClientRequestHeader.decode(request.ext_fields)
        if header.producer_group:
            self._broker.producer_manager.unregister_producer(header.producer_group, channel)
        if header.consumer_group:
            config = self._broker.subscription_group_manager.subscription_group_table.get(header.consumer_group)
            notify_members = config is None or config.notify_consumer_ids_changed_enable
            self._broker.consumer_manager.unregister_consumer(
                header.consumer_group, channel, notify_members=notify_members
            )
        return request.reply(ResponseCode.SUCCESS)

    def check_client_config(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 46: clients ask before they subscribe by anything but tags."""
        body = CheckClientRequestBody.from_json(request.body)
        subscription = body.subscription_data
        if subscription.expression_type == ExpressionType.TAG:
            return request.reply(ResponseCode.SUCCESS)
        refusal = why_not_filtered_by(self._broker.config, subscription.expression_type)
        if refusal is not None:
            return request.reply(*refusal)
        try:
            self._broker.consumer_filter_manager.build(body.group, subscription)
        except FilterSyntaxError as error:
            return request.reply(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error))
        except CompilerBusy as busy:
            return request.reply(ResponseCode.SYSTEM_BUSY, str(busy))
        return request.reply(ResponseCode.SUCCESS)


def check_client_id(client_id: str) -> None:
    """Raise :class:`MalformedBody` for an id that is empty, too long or cannot be shown."""
    if not 0 < len(client_id) <= _CLIENT_ID_MAX_LENGTH or not client_id.isprintable():
        raise MalformedBody(
            f"client id {client_id[:60]!r}: allowed are 1 to {_CLIENT_ID_MAX_LENGTH} printable characters"
        )
