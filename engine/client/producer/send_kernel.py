"""One attempt to send to one queue (RocketMQ: ``DefaultMQProducerImpl.sendKernelImpl``, ``CommunicationMode``).

Everything that all attempts of a message share, above all the compressed body, is in :class:`Outgoing`.

The request code shows what is sent: 310 a message, 320 a batch, 325 the reply to a request (property MSG_TYPE=reply),
which the broker forwards to the waiting client.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.client.callbacks.send_message_hook import SendHooks, SendMessageContext
from engine.client.callbacks.send_result import DEFAULT_REGION_ID, STATUS_OF_CODE, SendResult
from engine.client.foundation.errors import MQBrokerError, MQClientError
from engine.client.instance.mq_client_api import read_reply
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.producer.producer_config import ProducerConfig
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import SendMessageRequestHeader, SendMessageResponseHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.compression import ZLIB_SYSTEM_FLAG, compress_body
from engine.protocol.message.message import Message
from engine.protocol.message.message_properties import (
    PROPERTY_MAX_RECONSUME_TIMES,
    PROPERTY_MESSAGE_TYPE,
    PROPERTY_MSG_REGION,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_TRACE_ON,
    PROPERTY_TRANSACTION_PREPARED,
    REPLY_MESSAGE_TYPE,
    encode_properties,
)
from engine.protocol.names import AUTO_CREATE_TOPIC_KEY_TOPIC, is_retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.system_flags import TRANSACTION_PREPARED_TYPE


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message or batch in its encoded form, independent of the queue."""

    topic: str
    body: bytes
    sys_flag: int
    flag: int
    properties: Mapping[str, str]
    unique_id: str
    is_batch: bool = False


def outgoing_message(message: Message, config: ProducerConfig) -> Outgoing:
    """Encode ``message``, which has its unique id, and compress its body if it is long.

    The body is compressed even if that makes it longer, as in RocketMQ; the message itself is not changed.
    """
    sys_flag = 0
    body = bytes(message.body)
    if len(body) >= config.compress_msg_body_over_howmuch:
        body = compress_body(body, config.compress_level)
        sys_flag |= ZLIB_SYSTEM_FLAG
    if message.properties.get(PROPERTY_TRANSACTION_PREPARED, "").lower() == "true":
        sys_flag |= TRANSACTION_PREPARED_TYPE
    unique_id = message.unique_id
    assert unique_id is not None, "the producer sets the unique id first"
    return Outgoing(message.topic, body, sys_flag, message.flag, message.properties, unique_id)


class SendKernel:
    """A sender that builds the request for one queue, sends it and reads the reply.

    :ivar hooks: called around every attempt.
    """

    def __init__(self, instance: MQClientInstance, producer_group: str, config: ProducerConfig) -> None:
        self.hooks = SendHooks()
        self._instance = instance
        self._producer_group = producer_group
        self._config = config

    async def send(self, outgoing: Outgoing, queue: MessageQueue, timeout_ms: int) -> SendResult:
        """Send to a queue. Raises :class:`~engine.client.foundation.errors.MQClientError`, ``MQBrokerError`` for a
        refusal.
        """
        address = self._instance.route_table.master_address(queue.broker_name)
        if not self.hooks.are_any:
            return await self._exchange(outgoing, queue, address, timeout_ms)
        context = self._context(outgoing, queue, address)
        self.hooks.before(context)
        try:
            context.result = await self._exchange(outgoing, queue, address, timeout_ms)
        except MQClientError as error:
            context.failure = error
            raise
        finally:
            self.hooks.after(context)
        return context.result

    async def send_oneway(self, outgoing: Outgoing, queue: MessageQueue) -> None:
        """Send without a reply. Raises if no connection can be made."""
        address = self._instance.route_table.master_address(queue.broker_name)
        command = self._command(outgoing, queue, oneway=True)
        context = self._context(outgoing, queue, address) if self.hooks.are_any else None
        if context is not None:
            self.hooks.before(context)
        await self._instance.api.send_oneway(address, command, f"send to {queue}")
        if context is not None:
            self.hooks.after(context)

    async def _exchange(self, outgoing: Outgoing, queue: MessageQueue, address: str, timeout_ms: int) -> SendResult:
        what = f"send to {queue}"
        reply = await self._instance.api.exchange(address, self._command(outgoing, queue), what, timeout_ms)
        status = STATUS_OF_CODE.get(reply.code)
        if status is None:
            raise MQBrokerError(reply.code, reply.remark, address, what)
        header = read_reply(lambda: SendMessageResponseHeader.decode(reply.ext_fields), what)
        return SendResult(
            status=status,
            message_id=outgoing.unique_id,
            offset_message_id=header.msg_id,
            message_queue=MessageQueue(queue.topic, queue.broker_name, header.queue_id),
            queue_offset=header.queue_offset,
            transaction_id=header.transaction_id,
            region_id=reply.ext_fields.get(PROPERTY_MSG_REGION) or DEFAULT_REGION_ID,
            trace_on=reply.ext_fields.get(PROPERTY_TRACE_ON) != "false",
        )

    def _context(self, outgoing: Outgoing, queue: MessageQueue, address: str) -> SendMessageContext:
        return SendMessageContext(
            self._producer_group, outgoing.topic, outgoing.properties, len(outgoing.body), queue, address
        )

    def _command(self, outgoing: Outgoing, queue: MessageQueue, *, oneway: bool = False) -> RemotingCommand:
        properties = outgoing.properties
        reconsume_times = 0
        max_reconsume_times = None
        if is_retry_topic(outgoing.topic):
            # A consumer sends a message back this way; the broker needs these two fields in the header.
            rest = dict(properties)
            reconsume_times = int(rest.pop(PROPERTY_RECONSUME_TIME, "0"))
            limit = rest.pop(PROPERTY_MAX_RECONSUME_TIMES, None)
            max_reconsume_times = None if limit is None else int(limit)
            properties = rest
        header = SendMessageRequestHeader(
            producer_group=self._producer_group,
            topic=outgoing.topic,
            default_topic=AUTO_CREATE_TOPIC_KEY_TOPIC,
            default_topic_queue_nums=self._config.default_topic_queue_nums,
            queue_id=queue.queue_id,
            sys_flag=outgoing.sys_flag,
            born_timestamp=self._instance.runtime.clock.now_ms(),
            flag=outgoing.flag,
            properties=encode_properties(properties),
            reconsume_times=reconsume_times,
            unit_mode=False,
            batch=outgoing.is_batch,
            max_reconsume_times=max_reconsume_times,
        )
        if outgoing.properties.get(PROPERTY_MESSAGE_TYPE) == REPLY_MESSAGE_TYPE:
            code = RequestCode.SEND_REPLY_MESSAGE_V2
        else:
            code = RequestCode.SEND_BATCH_MESSAGE if outgoing.is_batch else RequestCode.SEND_MESSAGE_V2
        command = RemotingCommand.request(code, None, outgoing.body, oneway=oneway)
        command.ext_fields = header.encode_v2()
        return command
