"""Questions about queues and messages (RocketMQ: ``QueryMessageProcessor``; 29-32 are served by
``AdminBrokerProcessor`` there).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.protocol.command.headers import (
    UNIQUE_KEY_QUERY_FLAG,
    GetEarliestMsgStoretimeResponseHeader,
    OffsetResponseHeader,
    QueryMessageRequestHeader,
    QueryMessageResponseHeader,
    QueueRequestHeader,
    SearchOffsetRequestHeader,
    ViewMessageRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel

if TYPE_CHECKING:
    from engine.broker.broker import Broker


class QueryMessageProcessor:
    """Codes 12, 29, 30, 31, 32 and 33."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def query_message(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 12: messages with a key, found by the index."""
        header = QueryMessageRequestHeader.decode(request.ext_fields)
        max_num = header.max_num
        if request.ext_fields.get(UNIQUE_KEY_QUERY_FLAG, "").lower() == "true":
            max_num = self._broker.config.default_query_max_num
        result = self._broker.store.query_message(
            header.topic, header.key, max(1, max_num), header.begin_timestamp, header.end_timestamp
        )
        response_header = QueryMessageResponseHeader(result.last_update_timestamp, result.last_update_physical_offset)
        if not result.buffers:
            return request.reply(
                ResponseCode.QUERY_NOT_FOUND,
                f"topic {header.topic!r} has no message with key {header.key[:100]!r} in that time",
                response_header,
            )
        return request.reply(ResponseCode.SUCCESS, None, response_header, b"".join(result.buffers))

    def view_message_by_id(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 33: the message at a place of the commit log, taken from its offset id by the asker."""
        offset = ViewMessageRequestHeader.decode(request.ext_fields).offset
        record = self._broker.store.raw_message_at(offset)
        if record is None:
            return request.reply(ResponseCode.SYSTEM_ERROR, f"there is no message at commit log offset {offset}")
        return request.reply(ResponseCode.SUCCESS, body=record)

    def get_max_offset(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 30: the offset that the queue's next message will get."""
        header = QueueRequestHeader.decode(request.ext_fields)
        offset = self._broker.store.max_offset(header.topic, header.queue_id)
        return request.reply(ResponseCode.SUCCESS, header=OffsetResponseHeader(offset))

    def get_min_offset(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 31: the offset of the queue's oldest message."""
        header = QueueRequestHeader.decode(request.ext_fields)
        offset = self._broker.store.min_offset(header.topic, header.queue_id)
        return request.reply(ResponseCode.SUCCESS, header=OffsetResponseHeader(offset))

    def get_earliest_msg_storetime(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 32: when the queue's oldest message was stored, -1 when it has none."""
        header = QueueRequestHeader.decode(request.ext_fields)
        timestamp = self._broker.store.earliest_message_time(header.topic, header.queue_id)
        return request.reply(ResponseCode.SUCCESS, header=GetEarliestMsgStoretimeResponseHeader(timestamp))

    def search_offset_by_timestamp(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 29: the offset of the message stored nearest to a time, which may be one stored before it."""
        header = SearchOffsetRequestHeader.decode(request.ext_fields)
        offset = self._broker.store.offset_by_time(header.topic, header.queue_id, header.timestamp)
        return request.reply(ResponseCode.SUCCESS, header=OffsetResponseHeader(offset))
