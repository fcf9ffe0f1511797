"""Brokers' requests to a push consumer (RocketMQ: ``ClientRemotingProcessor``)::

     40  the group has changed: rebalance                  (oneway)
    220  reset the offsets of a topic                       (oneway)
    221  return the current offsets
    307  return the running info
    309  consume one message directly

39 (transaction check) and 326 (reply to a request) belong to producers (``transaction_mq_producer`` and ``requester``).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable

from engine.client.consumer.consumer_running_info import consumer_running_info
from engine.client.consumer.default_mq_push_consumer_impl import DefaultMQPushConsumerImpl
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.protocol.body.bodies import ResetOffsetBody
from engine.protocol.command.headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    NotifyConsumerIdsChangedRequestHeader,
    ResetOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.json_form.json_text import ObjectKeyMap, dumps_json
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel

_log = logging.getLogger("glassmq.client")


class ClientRemotingProcessor:
    """The processor of one push consumer."""

    def __init__(
        self, instance: MQClientInstance, consumer: DefaultMQPushConsumerImpl, config: PushConsumerConfig
    ) -> None:
        self._instance = instance
        self._consumer = consumer
        self._config = config

    def register(self) -> None:
        """Register the codes at the instance's connections."""
        register = self._instance.remoting_client.register_processor
        register(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, self.notify_consumer_ids_changed)
        register(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, self.reset_offset)
        register(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, self.get_consumer_status)
        register(RequestCode.GET_CONSUMER_RUNNING_INFO, self.get_consumer_running_info)
        register(RequestCode.CONSUME_MESSAGE_DIRECTLY, self.consume_message_directly)

    def notify_consumer_ids_changed(self, channel: Channel, request: RemotingCommand) -> None:
        """Handle code 40: a member has joined or left."""
        header = NotifyConsumerIdsChangedRequestHeader.decode(request.ext_fields)
        if header.consumer_group == self._consumer.group:
            _log.info("broker %s: group %s has changed, rebalance", channel.remote_address, header.consumer_group)
            self._instance.rebalance_immediately()

    # --- 220 -------------------------------------------------------------------------------------------------------

    def reset_offset(self, channel: Channel, request: RemotingCommand) -> None:
        """Handle code 220: begin at other offsets. Takes ten seconds, in the background."""
        header = ResetOffsetRequestHeader.decode(request.ext_fields)
        if header.group == self._consumer.group:
            offsets = ResetOffsetBody.from_json(request.body).offset_table
            reset = self._consumer.offset_resets.reset(header.topic, offsets)
            self._instance.background.spawn(reset, f"reset offsets {header.topic}")

    # --- queries ---------------------------------------------------------------------------------------------------

    def get_consumer_status(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Handle code 221: return the current offsets of a topic."""
        header = GetConsumerStatusRequestHeader.decode(request.ext_fields)
        pairs: list[tuple[dict[str, object], object]] = [
            (queue.to_dict(), offset)
            for queue, offset in sorted(self._consumer.offset_store.offsets(header.topic).items())
        ]
        return request.reply(ResponseCode.SUCCESS, body=dumps_json({"messageQueueTable": ObjectKeyMap(pairs)}))

    def get_consumer_running_info(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Handle code 307: return the running info of this consumer."""
        header = GetConsumerRunningInfoRequestHeader.decode(request.ext_fields)
        if header.consumer_group != self._consumer.group:
            return _wrong_group(request, header.consumer_group)
        now_ms = self._instance.runtime.clock.now_ms()
        body = consumer_running_info(
            self._consumer, self._config, self._instance.config, now_ms, with_internals=bool(header.insides_enable)
        )
        return request.reply(ResponseCode.SUCCESS, body=body)

    # --- 309 -------------------------------------------------------------------------------------------------------

    def consume_message_directly(
        self, channel: Channel, request: RemotingCommand
    ) -> RemotingCommand | Awaitable[RemotingCommand | None]:
        """Handle code 309: call the listener with the message in the body and return the result."""
        header = ConsumeMessageDirectlyResultRequestHeader.decode(request.ext_fields)
        if header.consumer_group != self._consumer.group:
            return _wrong_group(request, header.consumer_group)
        return self._consume_directly(request, header.broker_name)

    async def _consume_directly(self, request: RemotingCommand, broker_name: str | None) -> RemotingCommand:
        try:
            message = decode_stored_message(request.body, decompress=True)
        except ProtocolError as error:
            return request.reply(ResponseCode.SYSTEM_ERROR, str(error))
        result = await self._consumer.consume_service.consume_message_directly(message, broker_name)
        body = {
            "autoCommit": result.auto_commit,
            "consumeResult": str(result.consume_result),
            "order": result.order,
            "remark": result.remark,
            "spentTimeMills": result.spent_time_ms,
        }
        return request.reply(ResponseCode.SUCCESS, body=dumps_json(body))


def _wrong_group(request: RemotingCommand, group: str) -> RemotingCommand:
    return request.reply(ResponseCode.SYSTEM_ERROR, f"this client has no consumer of group {group!r}")
