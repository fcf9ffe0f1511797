"""Headers that ask about one queue or look messages up: codes 12, 29, 30, 31, 32, 33."""

from __future__ import annotations

from engine.protocol.command.command_header import CommandHeader, Int32, Int64


class QueueRequestHeader(CommandHeader):
    """Common to GET_MAX_OFFSET, GET_MIN_OFFSET and GET_EARLIEST_MSG_STORETIME (three classes in RocketMQ)."""

    topic: str
    queue_id: Int32
    broker_name: str | None = None


class OffsetResponseHeader(CommandHeader):
    """Common to the replies of GET_MAX_OFFSET, GET_MIN_OFFSET, SEARCH_OFFSET_BY_TIMESTAMP, QUERY_CONSUMER_OFFSET."""

    offset: Int64


class GetEarliestMsgStoretimeResponseHeader(CommandHeader):
    """``timestamp`` in ms, -1 when the queue is empty."""

    timestamp: Int64


class SearchOffsetRequestHeader(CommandHeader):
    """SEARCH_OFFSET_BY_TIMESTAMP (29); ``timestamp`` in ms."""

    topic: str
    queue_id: Int32
    timestamp: Int64
    broker_name: str | None = None


class ViewMessageRequestHeader(CommandHeader):
    """``offset`` is the physical offset from the message's offset id."""

    offset: Int64


class QueryMessageRequestHeader(CommandHeader):
    """Look up by key, or by unique id when the ext field ``_UNIQUE_KEY_QUERY`` is true."""

    topic: str
    key: str
    max_num: Int32
    begin_timestamp: Int64
    end_timestamp: Int64


class QueryMessageResponseHeader(CommandHeader):
    """How far the index had come: store time (ms) and commit-log offset of its newest entry."""

    index_last_update_timestamp: Int64
    index_last_update_phyoffset: Int64


#: Ext field which turns QUERY_MESSAGE into a search by unique id.
UNIQUE_KEY_QUERY_FLAG = "_UNIQUE_KEY_QUERY"
