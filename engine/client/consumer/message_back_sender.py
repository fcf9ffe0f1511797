"""The sender that returns messages that could not be consumed (RocketMQ:
``DefaultMQPushConsumerImpl.sendMessageBack``).
"""

from __future__ import annotations

import logging

from engine.client.foundation.errors import MQBrokerError, MQClientError
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.producer.default_mq_producer_impl import DefaultMQProducerImpl
from engine.client.producer.producer_config import ProducerConfig
from engine.client.producer.send_kernel import outgoing_message
from engine.protocol.message.message import Message, MessageExt
from engine.protocol.message.message_properties import (
    PROPERTY_CONSUME_START_TIME,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_MAX_OFFSET,
    PROPERTY_MAX_RECONSUME_TIMES,
    PROPERTY_MIN_OFFSET,
    PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_UNIQUE_KEY,
)
from engine.protocol.names import CLIENT_INNER_PRODUCER_GROUP, retry_topic
from engine.protocol.response_code import ResponseCode

_log = logging.getLogger("glassmq.client")

#: The delay level of the first redelivery; each further one waits a level longer.
FIRST_RETRY_DELAY_LEVEL = 3
#: The delay level that means: no retry, but a dead letter immediately.
NEVER_AGAIN = -1
#: The name of every inner producer.
_PRODUCER_CONFIG = ProducerConfig()
#: Properties that only this client has written into the message, and that must not be stored with the copy.
_NOT_CARRIED_OVER = (
    PROPERTY_CONSUME_START_TIME,
    PROPERTY_MIN_OFFSET,
    PROPERTY_MAX_OFFSET,
    PROPERTY_TRANSACTION_PREPARED,
)


class MessageBackSender:
    """A sender that asks the message's broker to redeliver it; if that fails, it sends a copy to the retry topic.

    :param max_reconsume_times: beyond it the message goes to the dead-letter topic.
    """

    def __init__(self, instance: MQClientInstance, group: str, max_reconsume_times: int) -> None:
        self._instance = instance
        self._group = group
        self._max_reconsume_times = max_reconsume_times
        #: The producer that sends the copies (RocketMQ: the instance's ``defaultMQProducer``).
        self.inner_producer = DefaultMQProducerImpl(instance, CLIENT_INNER_PRODUCER_GROUP, _PRODUCER_CONFIG)

    async def send_back(self, message: MessageExt, delay_level: int) -> None:
        """Send a message back. Raises :class:`MQClientError` if neither way succeeded.

        If the broker accepted the message but its reply was lost, the copy is a duplicate. An unreadable message
        becomes a dead letter immediately: a retry would have the same bytes, and it cannot be copied.
        """
        if message.unreadable is not None:
            await self._give_up_unreadable(message)
            return
        try:
            await self._instance.consumer_api.send_message_back(
                self._address(message), self._group, message, delay_level, self._max_reconsume_times
            )
        except MQClientError as error:
            _log.warning("message %s is sent to the retry topic instead: %s", message.message_id, error)
            await self._send_copy(message, message.reconsume_times + 1)

    async def send_exhausted(self, message: MessageExt) -> None:
        """Move a message to the dead-letter topic that an orderly listener has failed to consume too often.

        A copy goes to the retry topic; because of the deliveries in its header the broker stores it in the dead-letter
        topic instead (RocketMQ: ``ConsumeMessageOrderlyService.sendMessageBack``). Raises :class:`MQClientError`.
        """
        if message.unreadable is not None:
            await self._give_up_unreadable(message)
            return
        await self._send_copy(message, message.reconsume_times)

    async def _give_up_unreadable(self, message: MessageExt) -> None:
        refusal = "its place in the log is not known"
        if message.commit_log_offset >= 0:
            try:
                await self._instance.consumer_api.send_message_back(
                    self._address(message), self._group, message, NEVER_AGAIN, self._max_reconsume_times
                )
                return
            except MQBrokerError as error:
                if message.topic or error.code != ResponseCode.SYSTEM_ERROR:
                    raise
                refusal = str(error)  # the broker cannot read it any better than this client
        _log.error(
            "group %s skips queue %d offset %d of %s, which is in no dead-letter topic: %s",
            self._group,
            message.queue_id,
            message.queue_offset,
            message.broker_name,
            refusal,
        )

    async def _send_copy(self, message: MessageExt, reconsume_times: int) -> None:
        outgoing = outgoing_message(self._copy_for_retry(message, reconsume_times), _PRODUCER_CONFIG)
        await self.inner_producer.send(outgoing, _PRODUCER_CONFIG.send_msg_timeout_ms)

    def _address(self, message: MessageExt) -> str:
        if message.broker_name is None:
            return message.store_host
        return self._instance.route_table.master_address(message.broker_name)

    def _copy_for_retry(self, message: MessageExt, reconsume_times: int) -> Message:
        properties = {name: value for name, value in message.properties.items() if name not in _NOT_CARRIED_OVER}
        properties.setdefault(PROPERTY_ORIGIN_MESSAGE_ID, message.message_id)
        properties.setdefault(PROPERTY_UNIQUE_KEY, message.message_id)
        properties[PROPERTY_RETRY_TOPIC] = message.topic
        properties[PROPERTY_RECONSUME_TIME] = str(reconsume_times)
        properties[PROPERTY_MAX_RECONSUME_TIMES] = str(self._max_reconsume_times)
        properties[PROPERTY_DELAY_TIME_LEVEL] = str(FIRST_RETRY_DELAY_LEVEL + message.reconsume_times)
        copy = Message(retry_topic(self._group), message.body, flag=message.flag)
        copy.properties.update(properties)
        return copy
