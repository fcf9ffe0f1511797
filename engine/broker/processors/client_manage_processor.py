"""The processor of heartbeats (RocketMQ: ``ClientManageProcessor``).

A heartbeat names every producer and consumer group of the client on this connection. It creates what is missing: the
group's configuration and its retry topic, which the name servers know when the reply arrives.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from dataclasses import dataclass

from engine.broker.filters.consumer_filter_manager import ConsumerFilterManager
from engine.broker.filters.expression_message_filter import filter_data_of
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.broker_registration import BrokerRegistration
from engine.broker.tables.client_channel_info import ClientChannelInfo
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.producer_manager import ProducerManager
from engine.broker.tables.subscription_group_manager import SubscriptionGroupManager
from engine.broker.tables.topic_config_manager import TOPIC_SYS_FLAG_UNIT, TopicConfigManager
from engine.protocol.body.bodies import CheckClientRequestBody
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.command.headers import UnregisterClientRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import ExpressionType
from engine.protocol.errors import MalformedBody
from engine.protocol.names import TOPIC_MAX_LENGTH, retry_topic, validate_group
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.remoting.processor import answers, processes
from engine.runtime.port import Clock

logger = logging.getLogger("glassmq.broker")

#: The maximum length of a client id. Real ones are "ip@pid#nanoTime@unit"; the bound keeps tables and reply bodies
#: small.
_CLIENT_ID_MAX_LENGTH = 512
#: The maximum size of a heartbeat, whose content is kept as long as the client is connected.
_HEARTBEAT_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class ClientManageProcessor:
    """The processor of codes 34, 35 and 46."""

    config: BrokerConfig
    clock: Clock
    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    consumers: ConsumerManager
    producers: ProducerManager
    filters: ConsumerFilterManager
    registration: BrokerRegistration

    @processes(RequestCode.HEART_BEAT)
    def heart_beat(self, channel: Channel, request: RemotingCommand) -> RemotingCommand | Awaitable[RemotingCommand]:
        """Handle a heartbeat (code 34).

        All names and bounds are checked before anything is changed; code 1 names the one that failed.
        """
        if len(request.body) > _HEARTBEAT_MAX_BYTES:
            raise MalformedBody(f"a heartbeat of {len(request.body)} bytes; allowed: {_HEARTBEAT_MAX_BYTES}")
        heartbeat = HeartbeatData.from_json(request.body)
        check_client_id(heartbeat.client_id)
        for consumer in heartbeat.consumers:
            validate_group(consumer.group_name)
        for group in heartbeat.producer_groups:
            validate_group(group)
        now_ms = self.clock.now_ms()
        client = ClientChannelInfo(channel, heartbeat.client_id, request.language, request.version, now_ms)
        self.consumers.check_room(heartbeat.consumers, channel)
        self.producers.check_room(heartbeat.producer_groups, channel)
        changes_before = self.registration.changes
        for consumer in heartbeat.consumers:
            self._register_consumer(consumer, client)
        for group in heartbeat.producer_groups:
            self.producers.register_producer(group, client)
        reply = request.reply(ResponseCode.SUCCESS)
        return (
            reply if self.registration.changes == changes_before else self.registration.answered_when_registered(reply)
        )

    def _register_consumer(self, consumer: ConsumerData, client: ClientChannelInfo) -> None:
        group = consumer.group_name
        config = self.groups.find_subscription_group_config(group)
        notify_members = self.config.notify_consumer_ids_changed_enable
        if config is not None:
            self.groups.note_message_model(group, consumer.message_model)
            notify_members = notify_members and config.notify_consumer_ids_changed_enable
            topic = retry_topic(group)
            if len(topic) <= TOPIC_MAX_LENGTH:
                self.topics.create_topic_in_send_message_back(
                    topic, config.retry_queue_nums, topic_sys_flag=TOPIC_SYS_FLAG_UNIT if consumer.unit_mode else 0
                )
            else:
                logger.warning("group %s gets no retry topic: its name would be too long", group)
        self.consumers.register_consumer(consumer, client, notify_members=notify_members)
        self.filters.register(group, consumer.subscriptions, client.channel.remote_address)

    @answers(RequestCode.UNREGISTER_CLIENT, UnregisterClientRequestHeader, Channel)
    def unregister_client(self, header: UnregisterClientRequestHeader, channel: Channel) -> None:
        """Remove a client from its groups (code 35). C++ clients send an empty name for the group they do not mean."""
        if header.producer_group:
            self.producers.unregister_producer(header.producer_group, channel)
        if header.consumer_group:
            config = self.groups.subscription_group_table.get(header.consumer_group)
            notify_members = config is None or config.notify_consumer_ids_changed_enable
            self.consumers.unregister_consumer(header.consumer_group, channel, notify_members=notify_members)

    @answers(RequestCode.CHECK_CLIENT_CONFIG, CheckClientRequestBody, Channel)
    def check_client_config(self, body: CheckClientRequestBody, channel: Channel) -> None:
        """Check a subscription (code 46); clients send it before they subscribe by anything but tags."""
        subscription = body.subscription_data
        if subscription.expression_type != ExpressionType.TAG:
            filter_data_of(self.config, self.filters, body.group, subscription, channel.remote_address)


def check_client_id(client_id: str) -> None:
    """Raise :class:`MalformedBody` for an id that is empty, too long or not printable."""
    if not 0 < len(client_id) <= _CLIENT_ID_MAX_LENGTH or not client_id.isprintable():
        raise MalformedBody(f"client id {client_id[:60]!r}; allowed: 1 to {_CLIENT_ID_MAX_LENGTH} printable characters")
