"""The processor that forwards the reply to a request to the waiting client (RocketMQ: ``ReplyMessageProcessor``)::

    requester ── 310 request ──> broker ── 11 pull ──> responder     an ordinary message, in an ordinary topic
    requester <── 326 reply ──── broker <── 325 reply ── responder   found by REPLY_TO_CLIENT, the requester's client id

The checks and the rate limits are those of any send. The reply to 324 and 325 comes after the requester has confirmed
326, so the responder learns whether the requester still exists. The errors all have code 1: the reply names no client;
the client no longer sends heartbeats to this broker as a producer; it does not confirm within ten seconds.

With ``storeReplyMessageEnable`` the reply also goes into topic ``<cluster>_REPLY_TOPIC``, pushed or not. It is only a
record: no client reads it there. Different from RocketMQ: the stored reply keeps its system flag, without which a
compressed body could not be read again; and the responder does not wait for the flush.
"""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass

from engine.broker.delivery.send_message_checks import SendParts, choose_queue, decode_send_header
from engine.broker.processors.send_message_processor import SendReply
from engine.broker.tables.producer_manager import ProducerManager
from engine.protocol.command.headers import (
    ReplyMessageRequestHeader,
    SendMessageRequestHeader,
    SendMessageResponseHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.addresses import encode_host
from engine.protocol.message.message_properties import (
    PROPERTY_MSG_REGION,
    PROPERTY_PUSH_REPLY_TIME,
    PROPERTY_REPLY_TO_CLIENT,
    PROPERTY_TRACE_ON,
    decode_properties,
    encode_properties,
)
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import BORN_HOST_V6, STORE_HOST_V6
from engine.remoting.channel import Channel
from engine.remoting.errors import RemotingError, RequestRefused
from engine.remoting.processor import processes
from engine.store.log.put_message_result import PutMessageStatus
from engine.store.log.store_message import StoreMessage
from engine.store.queues.dispatch_request import dispatched_fields

logger = logging.getLogger("glassmq.broker")

#: The timeout of the requester's confirmation, as in Broker2Client.callClient.
PUSH_TIMEOUT_MS = 10_000
_HOST_BITS = BORN_HOST_V6 | STORE_HOST_V6


@dataclass(frozen=True)
class ReplyMessageProcessor:
    """The processor of codes 324 and 325."""

    parts: SendParts
    chance: random.Random
    producers: ProducerManager

    @processes(RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2)
    def send_reply_message(self, channel: Channel, request: RemotingCommand) -> SendReply:
        """Handle a responder's reply: refuse it immediately, or answer when the requester has confirmed."""
        header = decode_send_header(request)
        try:
            topic_config = self.parts.check_topic(header, channel.remote_address)
            queue_id = choose_queue(header, topic_config, self.chance)
            self.parts.admit(header.topic, 1)
        except RequestRefused as refusal:
            return self._with_region(request.reply(refusal.code, refusal.remark))
        return self._push_and_store(channel, request, header, queue_id)

    async def _push_and_store(
        self, channel: Channel, request: RemotingCommand, header: SendMessageRequestHeader, queue_id: int
    ) -> RemotingCommand:
        problem = await self._push(channel, request, header)
        if problem:
            logger.warning("a reply of %s to topic %s: %s", channel.remote_address, header.topic, problem)
        # RocketMQ's clients read these fields even if nothing was stored.
        where = None if problem else SendMessageResponseHeader("0", queue_id, 0)
        if self.parts.config.store_reply_message_enable:
            where = self._store(channel, request, header, queue_id) or where
        code = ResponseCode.SYSTEM_ERROR if problem else ResponseCode.SUCCESS
        return self._with_region(request.reply(code, problem or None, where))

    async def _push(self, channel: Channel, request: RemotingCommand, header: SendMessageRequestHeader) -> str:
        """Forward the reply (326); return why that was not possible, or ""."""
        properties = decode_properties(header.properties or "")
        client_id = properties.get(PROPERTY_REPLY_TO_CLIENT)
        if client_id is None:
            return f"reply message properties[{PROPERTY_REPLY_TO_CLIENT}] is null"
        requester = self.producers.find_channel(client_id)
        if requester is None:
            return f"push reply message fail, channel of <{client_id}> not found."
        now_ms = self.parts.clock.now_ms()
        properties[PROPERTY_PUSH_REPLY_TIME] = str(now_ms)
        push = ReplyMessageRequestHeader(
            producer_group=header.producer_group,
            topic=header.topic,
            default_topic=header.default_topic,
            default_topic_queue_nums=header.default_topic_queue_nums,
            queue_id=header.queue_id,
            sys_flag=header.sys_flag & ~_HOST_BITS,
            born_timestamp=header.born_timestamp,
            flag=header.flag,
            born_host=channel.remote_address,
            store_host=self.parts.address.text,
            store_timestamp=now_ms,
            properties=encode_properties(properties),
            reconsume_times=header.reconsume_times,
            unit_mode=header.unit_mode,
        )
        command = RemotingCommand.request(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, push, request.body)
        try:
            confirmed = await requester.call(command, PUSH_TIMEOUT_MS)
        except RemotingError as error:
            return f"push reply message to {client_id}fail. {error}"
        if confirmed.code != ResponseCode.SUCCESS:
            return f"push reply message to {client_id}fail. {confirmed.remark or ''}".rstrip()
        return ""

    def _store(
        self, channel: Channel, request: RemotingCommand, header: SendMessageRequestHeader, queue_id: int
    ) -> SendMessageResponseHeader | None:
        """Store the reply and return its position; None if the store refused it, which does not affect the
        responder.
        """
        tags_code, keys, unique_key = dispatched_fields(decode_properties(header.properties or ""))
        message = StoreMessage(
            topic=header.topic,
            queue_id=queue_id,
            body=request.body,
            properties_string=header.properties or "",
            born_timestamp=header.born_timestamp,
            born_host=encode_host(channel.remote_address),
            store_host=self.parts.address.store_host,
            flag=header.flag,
            sys_flag=header.sys_flag & ~_HOST_BITS,
            tags_code=tags_code,
            keys=keys,
            unique_key=unique_key,
            reconsume_times=header.reconsume_times or 0,
            wait_store_ok=False,
        )
        result = self.parts.store.put_message(message)
        if result.status is not PutMessageStatus.PUT_OK:
            self.parts.stats.put_failures += 1
            logger.warning("a reply of %s was not stored: %s", channel.remote_address, result.remark)
            return None
        self.parts.stats.record_put(header.topic, 1, result.size_bytes, 0, result.store_timestamp)
        return SendMessageResponseHeader(result.offset_message_id, queue_id, result.queue_offset)

    def _with_region(self, reply: RemotingCommand) -> RemotingCommand:
        reply.ext_fields[PROPERTY_MSG_REGION] = self.parts.config.region_id
        reply.ext_fields[PROPERTY_TRACE_ON] = "true" if self.parts.config.trace_on else "false"
        return reply
