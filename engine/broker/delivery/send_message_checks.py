"""The common parts and checks of the processors that store clients' messages (RocketMQ:
``AbstractSendMessageProcessor.msgCheck``).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Protocol

from engine.broker.delivery.send_rate_limit import SendRateLimit
from engine.broker.foundation.broker_address import BrokerAddress
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.broker_stats_manager import BrokerStatsManager
from engine.broker.tables.subscription_group_manager import SubscriptionGroupManager
from engine.broker.tables.topic_config_manager import TOPIC_SYS_FLAG_UNIT, TopicConfigManager
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.command.headers import SendMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.command.send_header_reader import decode_send_header_v2
from engine.protocol.errors import IllegalName
from engine.protocol.names import NOT_ALLOWED_SEND_TOPICS, RETRY_GROUP_TOPIC_PREFIX, validate_topic
from engine.protocol.permission import is_writable
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.replication.ha.ha_config import HaRole
from engine.runtime.port import Clock
from engine.store.files.running_flags import WriteRefusal
from engine.store.log.put_message_result import PutMessageStatus
from engine.store.message_store import MessageStore


class Copies(Protocol):
    """The replicas of the log that a sender may wait for."""

    async def replicated(self, offset: int, end_offset: int) -> PutMessageStatus:
        """Wait until enough replicas have the bytes up to ``end_offset``; return PUT_OK, or why that is unknown."""
        ...


@dataclass
class SendParts:
    """The parts that all processors of stored messages share.

    :ivar rate_limit: the send rate limit; None if no limit is set.
    :ivar copies: the replicas that a sender waits for: a SYNC_MASTER's slaves, a leader's majority; else None.
    """

    config: BrokerConfig
    address: BrokerAddress
    clock: Clock
    store: MessageStore
    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    stats: BrokerStatsManager
    rate_limit: SendRateLimit | None
    copies: Copies | None = None

    @property
    def is_writable(self) -> bool:
        """Return False if only topics without strict order are accepted (``brokerPermission``)."""
        return is_writable(self.config.broker_permission)

    def check_topic(self, header: SendMessageRequestHeader, remote_address: str) -> TopicConfig:
        """Return the topic to send to, created from its template if need be. Raises :class:`RequestRefused`."""
        topic, topics = header.topic, self.topics
        if self.config.broker_role is HaRole.SLAVE:
            raise RequestRefused(WriteRefusal.SLAVE.value, ResponseCode.SERVICE_NOT_AVAILABLE)
        if not self.is_writable and topics.is_order_topic(topic):
            raise RequestRefused("this broker is not writable (brokerPermission)", ResponseCode.NO_PERMISSION)
        try:
            validate_topic(topic)
        except IllegalName as error:
            raise RequestRefused(str(error)) from error
        if topic in NOT_ALLOWED_SEND_TOPICS:
            raise RequestRefused(f"nobody may send to system topic {topic}", ResponseCode.NO_PERMISSION)
        config = topics.select_topic_config(topic)
        if config is not None:
            return config
        topic_sys_flag = TOPIC_SYS_FLAG_UNIT if header.unit_mode else 0
        config = topics.create_topic_in_send_message(
            topic, header.default_topic, remote_address, header.default_topic_queue_nums, topic_sys_flag
        )
        if config is None and topic.startswith(RETRY_GROUP_TOPIC_PREFIX):
            config = topics.create_topic_in_send_message_back(topic, 1, topic_sys_flag=topic_sys_flag)
        if config is None:
            raise RequestRefused(
                f"topic {topic} does not exist and template {header.default_topic[:127]!r} cannot create it",
                ResponseCode.TOPIC_NOT_EXIST,
            )
        return config

    def admit(self, topic: str, count: int) -> None:
        """Admit ``count`` messages for ``topic`` that are about to be stored. Raises :class:`RequestRefused` over the
        limit.
        """
        if self.rate_limit is not None:
            self.rate_limit.admit(topic, count)


def decode_send_header(request: RemotingCommand) -> SendMessageRequestHeader:
    """Return the header of a send, whose fields have short names except in the two oldest codes."""
    if request.code in (RequestCode.SEND_MESSAGE, RequestCode.SEND_REPLY_MESSAGE):
        return SendMessageRequestHeader.decode(request.ext_fields)
    return decode_send_header_v2(request.ext_fields)


def choose_queue(header: SendMessageRequestHeader, config: TopicConfig, chance: random.Random) -> int:
    """Return the queue to use; for a negative requested one, ``chance`` chooses among the write queues.

    Raises :class:`RequestRefused`.
    """
    queue_id = header.queue_id
    if queue_id >= config.queue_nums:
        raise RequestRefused(
            f"queue id {queue_id} of topic {config.topic_name}; allowed: 0 to {config.queue_nums - 1}, or -1 for any"
        )
    if queue_id >= 0:
        return queue_id
    if config.write_queue_nums <= 0:
        raise RequestRefused(f"topic {config.topic_name} has no queue to write to")
    return chance.randrange(config.write_queue_nums)
