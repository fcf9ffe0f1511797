"""The result of a pull (RocketMQ: ``PullStatus``, ``PullResult``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.protocol.message.message import MessageExt
from engine.protocol.response_code import ResponseCode


class PullStatus(StrEnum):
    """The outcomes of a pull."""

    #: Messages were received.
    FOUND = "FOUND"
    #: There is nothing after the offset yet.
    NO_NEW_MSG = "NO_NEW_MSG"
    #: There are messages, but none that the subscription matches.
    NO_MATCHED_MSG = "NO_MATCHED_MSG"
    #: The offset is before the first or far past the last message.
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"


#: Any other code is an error.
STATUS_OF_CODE: dict[int, PullStatus] = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW_MSG,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED_MSG,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}


@dataclass(frozen=True, slots=True)
class PullResult:
    """The messages, and the offset to pull from next.

    ``min_offset`` is the queue's oldest message, ``max_offset`` one after its newest. With FOUND the list may still be
    empty: the broker compares hash codes of tags, the client the tags themselves. ``unwanted_count`` messages were
    dropped here, because their tag only shares the hash code of a subscribed one. ``unreadable`` messages could not be
    decoded, and contain the reason; they do not block the others.
    """

    status: PullStatus
    next_begin_offset: int
    min_offset: int
    max_offset: int
    messages: tuple[MessageExt, ...] = ()
    unwanted_count: int = 0
    unreadable: tuple[MessageExt, ...] = ()
