"""Headers of queries about one queue and of message queries: codes 12, 29, 30, 31, 32, 33."""

from __future__ import annotations

from engine.protocol.command.command_header import CommandHeader, Int32, Int64


class QueueRequestHeader(CommandHeader):
    """The header of GET_MAX_OFFSET, GET_MIN_OFFSET and GET_EARLIEST_MSG_STORETIME (three classes in RocketMQ)."""

    topic: str
    queue_id: Int32
    broker_name: str | None = None


class OffsetResponseHeader(CommandHeader):
    """The reply of GET_MAX_OFFSET, GET_MIN_OFFSET, SEARCH_OFFSET_BY_TIMESTAMP and QUERY_CONSUMER_OFFSET."""

    offset: Int64


class GetEarliestMsgStoretimeResponseHeader(CommandHeader):
    """The reply of GET_EARLIEST_MSG_STORETIME; ``timestamp`` is in ms, -1 if the queue is empty."""

    timestamp: Int64


class SearchOffsetRequestHeader(CommandHeader):
    """The header of SEARCH_OFFSET_BY_TIMESTAMP (29); ``timestamp`` in ms."""

    topic: str
    queue_id: Int32
    timestamp: Int64
    broker_name: str | None = None


class ViewMessageRequestHeader(CommandHeader):
    """The header of VIEW_MESSAGE_BY_ID (33); ``offset`` is the physical offset from the message's offset id."""

    offset: Int64


class QueryMessageRequestHeader(CommandHeader):
    """The header of QUERY_MESSAGE (12) by key, or by unique id if the ext field ``_UNIQUE_KEY_QUERY`` is true."""

    topic: str
    key: str
    max_num: Int32
    begin_timestamp: Int64
    end_timestamp: Int64


class QueryMessageResponseHeader(CommandHeader):
    """The reply of QUERY_MESSAGE: the progress of the index as store time (ms) and commit-log offset of its newest
    entry.
    """

    index_last_update_timestamp: Int64
    index_last_update_phyoffset: Int64


#: Ext field which turns QUERY_MESSAGE into a search by unique id.
UNIQUE_KEY_QUERY_FLAG = "_UNIQUE_KEY_QUERY"
