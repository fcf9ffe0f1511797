"""The processor of messages that a consumer failed to consume and sends back (RocketMQ: ``asyncConsumerSendMsgBack``).

The message is read from the commit log and stored again, with its retry count incremented, in the group's retry topic
after a delay: level 0 means 3 + retries so far, so 10 s, 30 s, 1 min, 2 min ... After 16 retries, or immediately if the
consumer requests it with a negative level, it goes to the group's dead-letter topic, which no consumer reads by
default.

Properties added: RETRY_TOPIC (its first topic) and ORIGIN_MESSAGE_ID (its first offset id), each once; and DELAY, which
is 0 for a dead letter.

Simplified: no hooks, no slave.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from engine.broker.delivery.message_again import message_again
from engine.broker.delivery.schedule_message_service import ScheduleMessageService, delay_message
from engine.broker.delivery.send_message_checks import SendParts
from engine.broker.foundation.errors import check_stored
from engine.broker.processors.send_message_processor import MIN_VERSION_MAX_RECONSUME_TIMES
from engine.broker.tables.topic_config_manager import TOPIC_SYS_FLAG_UNIT
from engine.protocol.command.headers import ConsumerSendMsgBackRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_WAIT_STORE_MSG_OK,
)
from engine.protocol.names import dlq_topic, retry_topic
from engine.protocol.permission import is_writable
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.store.log.store_message import StoreMessage

#: The delay level of the first retry when the consumer leaves it to the broker.
_FIRST_RETRY_LEVEL = 3


@dataclass(frozen=True)
class SendMessageBackProcessor:
    """The processor of code 36."""

    parts: SendParts
    chance: random.Random
    schedule: ScheduleMessageService

    @answers(RequestCode.CONSUMER_SEND_MSG_BACK, ConsumerSendMsgBackRequestHeader, RemotingCommand)
    def consumer_send_msg_back(self, header: ConsumerSendMsgBackRequestHeader, request: RemotingCommand) -> None:
        """Store the message again for later, or as a dead letter."""
        parts = self.parts
        group_config = parts.groups.find_subscription_group_config(header.group)
        if group_config is None:
            raise RequestRefused(f"group {header.group} does not exist", ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
        if not parts.is_writable:
            raise RequestRefused(f"broker {parts.config.broker_name} may not be written to", ResponseCode.NO_PERMISSION)
        if group_config.retry_queue_nums <= 0:
            return  # the group does not want retries: nothing more is done with the message
        topic_config = parts.topics.create_topic_in_send_message_back(
            retry_topic(header.group),
            group_config.retry_queue_nums,
            topic_sys_flag=TOPIC_SYS_FLAG_UNIT if header.unit_mode else 0,
        )
        if not is_writable(topic_config.perm):
            raise RequestRefused(
                f"topic {topic_config.topic_name} may not be written to (perm {topic_config.perm})",
                ResponseCode.NO_PERMISSION,
            )
        message = parts.store.message_at(header.offset)
        if message is None:
            raise RequestRefused(f"there is no message at commit log offset {header.offset}")
        # Retry queues that the group was given later do not exist while the retry topic is the older one: RocketMQ
        # stores there all the same, where no consumer ever reads.
        retry_queues = min(group_config.retry_queue_nums, max(1, topic_config.write_queue_nums))
        max_reconsume_times = group_config.retry_max_times
        # The consumer's limit counts. Java and Python consumers always send one: 16 unless set.
        if request.version >= MIN_VERSION_MAX_RECONSUME_TIMES and header.max_reconsume_times is not None:
            max_reconsume_times = header.max_reconsume_times
        self._put_back(header, max_reconsume_times, retry_queues, message)

    def _put_back(
        self, header: ConsumerSendMsgBackRequestHeader, max_reconsume_times: int, retry_queues: int, message: MessageExt
    ) -> None:
        if message.reconsume_times >= max_reconsume_times or header.delay_level < 0:
            topic, queue_id, delay_level = dlq_topic(header.group), 0, 0
            self.parts.topics.create_topic_in_send_message_back(topic, 1)
        else:
            topic = retry_topic(header.group)
            queue_id = self.chance.randrange(retry_queues)
            # A producer may have sent any number of retries: one below -3 means no delay, as in RocketMQ.
            delay_level = header.delay_level or max(0, _FIRST_RETRY_LEVEL + message.reconsume_times)
        again = self._message_again(message, topic, queue_id, delay_level)
        if again.delay_level:
            delay_message(again)
        check_stored(self.parts.store.put_message(again))

    def _message_again(self, message: MessageExt, topic: str, queue_id: int, delay_level: int) -> StoreMessage:
        properties = message.properties
        properties.setdefault(PROPERTY_RETRY_TOPIC, message.topic)
        properties.setdefault(PROPERTY_ORIGIN_MESSAGE_ID, message.offset_message_id)
        properties[PROPERTY_WAIT_STORE_MSG_OK] = "false"
        properties[PROPERTY_DELAY_TIME_LEVEL] = str(delay_level)
        again = message_again(message, topic, queue_id, self.parts.address.store_host)
        again.reconsume_times += 1
        again.delay_level = min(delay_level, self.schedule.max_delay_level)
        return again
