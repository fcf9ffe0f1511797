"""Queries of queues and messages (RocketMQ: ``QueryMessageProcessor``; 29-32 are served by ``AdminBrokerProcessor``
there).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.foundation.broker_config import BrokerConfig
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
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.store.message_store import MessageStore


@dataclass(frozen=True)
class QueryMessageProcessor:
    """The processor of codes 12, 29, 30, 31, 32 and 33."""

    config: BrokerConfig
    store: MessageStore

    @answers(RequestCode.QUERY_MESSAGE, QueryMessageRequestHeader, RemotingCommand)
    def query_message(self, header: QueryMessageRequestHeader, request: RemotingCommand) -> RemotingCommand:
        """Return messages with a key, found by the index (code 12)."""
        max_num, begin_ms = header.max_num, header.begin_timestamp
        is_unique_id = request.ext_fields.get(UNIQUE_KEY_QUERY_FLAG, "").lower() == "true"
        if is_unique_id:
            max_num = self.config.default_query_max_num
            # Clients derive the begin time from the id, minus one second: it is the sender's clock. A broker whose
            # clock is slower has stored the message before it; RocketMQ does not find it then.
            begin_ms = 0
        result = self.store.query_message(
            header.topic, header.key, max(1, max_num), begin_ms, header.end_timestamp, is_unique_id=is_unique_id
        )
        response_header = QueryMessageResponseHeader(result.last_update_timestamp, result.last_update_physical_offset)
        if not result.buffers:
            return request.reply(
                ResponseCode.QUERY_NOT_FOUND,
                f"topic {header.topic!r} has no message with key {header.key[:100]!r} in that time",
                response_header,
            )
        return request.reply(ResponseCode.SUCCESS, None, response_header, b"".join(result.buffers))

    @answers(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader)
    def view_message_by_id(self, header: ViewMessageRequestHeader) -> bytes:
        """Return the message at a commit-log offset, which the client took from its offset id (code 33)."""
        record = self.store.commit_log.record_at(header.offset)
        if record is None:
            raise RequestRefused(f"there is no message at commit log offset {header.offset}")
        return record

    @answers(RequestCode.GET_MAX_OFFSET, QueueRequestHeader)
    def get_max_offset(self, header: QueueRequestHeader) -> OffsetResponseHeader:
        """Return the offset that the queue's next message will get (code 30)."""
        return OffsetResponseHeader(self.store.max_offset(header.topic, header.queue_id))

    @answers(RequestCode.GET_MIN_OFFSET, QueueRequestHeader)
    def get_min_offset(self, header: QueueRequestHeader) -> OffsetResponseHeader:
        """Return the offset of the queue's oldest message (code 31)."""
        return OffsetResponseHeader(self.store.min_offset(header.topic, header.queue_id))

    @answers(RequestCode.GET_EARLIEST_MSG_STORETIME, QueueRequestHeader)
    def get_earliest_msg_storetime(self, header: QueueRequestHeader) -> GetEarliestMsgStoretimeResponseHeader:
        """Return when the queue's oldest message was stored, -1 if it has none (code 32)."""
        return GetEarliestMsgStoretimeResponseHeader(self.store.earliest_message_time(header.topic, header.queue_id))

    @answers(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, SearchOffsetRequestHeader)
    def search_offset_by_timestamp(self, header: SearchOffsetRequestHeader) -> OffsetResponseHeader:
        """Return the offset of the message stored nearest to a time, perhaps before it (code 29)."""
        return OffsetResponseHeader(self.store.offset_by_time(header.topic, header.queue_id, header.timestamp))
