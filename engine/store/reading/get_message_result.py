"""The results of reads from the store (RocketMQ: ``GetMessageResult``, ``QueryMessageResult``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class GetMessageStatus(Enum):
    """The status of a read, by RocketMQ's names; the broker puts the name into the reply's remark."""

    FOUND = 0
    NO_MATCHED_MESSAGE = 1
    MESSAGE_WAS_REMOVING = 2
    OFFSET_FOUND_NULL = 3
    OFFSET_OVERFLOW_BADLY = 4
    OFFSET_OVERFLOW_ONE = 5
    OFFSET_TOO_SMALL = 6
    NO_MATCHED_LOGIC_QUEUE = 7
    NO_MESSAGE_IN_QUEUE = 8


@dataclass(slots=True)
class GetMessageResult:
    """The messages that one read of a queue found.

    :ivar next_begin_offset: the logical offset to read next.
    :ivar min_offset, max_offset: the bounds of the queue; ``max_offset`` is the offset of the next message.
    :ivar data: the stored messages, one after the other in their order.
    :ivar message_count: how many they are.
    :ivar last_store_timestamp: store time of the last message found, ms; 0 if none was found.
    :ivar kept_back_count: messages that the filter excluded.
    """

    status: GetMessageStatus
    next_begin_offset: int
    min_offset: int
    max_offset: int
    data: bytes = b""
    message_count: int = 0
    last_store_timestamp: int = 0
    kept_back_count: int = 0


@dataclass(slots=True)
class QueryMessageResult:
    """Messages found by key, newest first, one stored message per buffer.

    :ivar last_update_timestamp: the progress of the index: store time of its newest message, ms.
    :ivar last_update_physical_offset: the commit-log offset of that message.
    """

    buffers: list[bytes] = field(default_factory=list)
    last_update_timestamp: int = 0
    last_update_physical_offset: int = 0
