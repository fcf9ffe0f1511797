"""The outcome of putting a message into the store (RocketMQ: ``PutMessageResult``, ``AppendMessageResult``)."""

from __future__ import annotations

from enum import Enum
from typing import Final

from engine.protocol.byte_strings import BytesWriter, write_i64_be

_OFFSET_BYTES: Final = 8


class PutMessageStatus(Enum):
    """The status of a put, by RocketMQ's names. The last two values (slaves) come from replication, not from
    the store.
    """

    PUT_OK = 0
    FLUSH_DISK_TIMEOUT = 1
    FLUSH_SLAVE_TIMEOUT = 2
    SLAVE_NOT_AVAILABLE = 3
    SERVICE_NOT_AVAILABLE = 4
    CREATE_MAPEDFILE_FAILED = 5
    MESSAGE_ILLEGAL = 6
    PROPERTIES_SIZE_EXCEEDED = 7
    OS_PAGECACHE_BUSY = 8
    UNKNOWN_ERROR = 9


class PutMessageResult:
    """The position of a stored message, or of a batch.

    :ivar status: PUT_OK, or why nothing was stored.
    :ivar remark: an explanation for people; empty if all is well.
    :ivar offset: commit-log offset of the (first) message, -1 if nothing was stored.
    :ivar queue_offset: its logical offset in the consume queue.
    :ivar store_timestamp: the broker's clock when it was stored, ms.
    :ivar size_bytes: stored size of all messages together.
    :ivar offsets: commit-log offset of every message of a batch; empty for a single one.
    """

    __slots__ = ("offset", "offsets", "queue_offset", "remark", "size_bytes", "status", "store_host", "store_timestamp")

    def __init__(
        self,
        status: PutMessageStatus,
        remark: str = "",
        offset: int = -1,
        queue_offset: int = 0,
        store_timestamp: int = 0,
        size_bytes: int = 0,
        store_host: bytes = b"",
        offsets: list[int] | None = None,
    ) -> None:
        self.status = status
        self.remark = remark
        self.offset = offset
        self.queue_offset = queue_offset
        self.store_timestamp = store_timestamp
        self.size_bytes = size_bytes
        self.store_host = store_host
        self.offsets = [] if offsets is None else offsets

    @property
    def end_offset(self) -> int:
        """Return the commit-log offset after the last byte, which ``MessageStore.flushed`` has to reach."""
        return self.offset + self.size_bytes

    @property
    def is_ok(self) -> bool:
        """Return True if the message is in the commit log (in memory at least)."""
        return self.status is PutMessageStatus.PUT_OK

    @property
    def message_count(self) -> int:
        """Return how many messages were stored."""
        return len(self.offsets) or int(self.offset >= 0)

    @property
    def offset_message_id(self) -> str:
        """Return the offset id of the message; of a batch, all ids joined by commas. Empty if nothing was stored."""
        if self.offset < 0:
            return ""
        ids = BytesWriter()
        for offset in self.offsets or [self.offset]:
            ids.write(self.store_host)
            write_i64_be(ids, offset)
        return ids.getvalue().hex(",", len(self.store_host) + _OFFSET_BYTES).upper()
