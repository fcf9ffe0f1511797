"""Queries of the store (RocketMQ: ``DefaultMessageStore``: ``getMessage``, ``queryMessage``,
``getOffsetInQueueByTime``).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from engine.protocol.errors import ProtocolError
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.message.record_layout import store_timestamp_of
from engine.store.queues.consume_queue import ConsumeQueue, Entry
from engine.store.queues.consume_queue_ext import ConsumeQueueExtUnit, is_ext_address
from engine.store.reading.entry_reader import EntryReader
from engine.store.reading.get_message_result import GetMessageResult, GetMessageStatus, QueryMessageResult
from engine.store.reading.message_collector import MessageCollector
from engine.store.reading.message_filter import MessageFilter
from engine.store.services.store_parts import StoreParts

#: The maximum number of index entries with one hash that a query reads, newest first: about a tenth of a second of
#: reading.
CANDIDATES_MAX: Final = 10_000


class MessageReader:
    """The reading half of a store, which never waits.

    :ivar commit_log: the log itself: its ends, its files, stored messages as bytes, and what of it is damaged.
    """

    def __init__(self, parts: StoreParts) -> None:
        self.parts = parts
        self.config = parts.config
        self.commit_log = parts.commit_log
        self._table = parts.consume_queues
        self._index = parts.index
        self._entries = EntryReader(parts.config, parts.commit_log)

    # --- by logical offset -------------------------------------------------------------------------------------------

    def get_message(
        self,
        group: str,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        message_filter: MessageFilter | None = None,
        max_bytes: int | None = None,
    ) -> GetMessageResult:
        """Return messages of one queue from logical ``offset`` on: at most ``max_messages`` and 256 KiB, but at least
        one.

        ``max_bytes`` replaces all configured limits, including the one on the number of messages
        (``message_collector``).

        ``group`` is for observers; it does not change the result. ``next_begin_offset`` is after the last entry
        examined, ``min_offset`` if ``offset`` is too small, ``max_offset`` if it is too large.
        """
        queue = self._table.get(topic, queue_id)
        if queue is None:
            return GetMessageResult(GetMessageStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        min_offset, max_offset = queue.min_offset, queue.max_offset
        if min_offset <= offset < max_offset:
            collector = MessageCollector(self._entries, queue, max_messages, message_filter, max_bytes)
            return collector.collect(offset)
        if max_offset == 0:
            status, next_offset = GetMessageStatus.NO_MESSAGE_IN_QUEUE, 0
        elif offset < min_offset:
            status, next_offset = GetMessageStatus.OFFSET_TOO_SMALL, min_offset
        elif offset == max_offset:
            status, next_offset = GetMessageStatus.OFFSET_OVERFLOW_ONE, offset
        else:
            status, next_offset = GetMessageStatus.OFFSET_OVERFLOW_BADLY, max_offset
        return GetMessageResult(status, next_offset, min_offset, max_offset)

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Return the logical offset after the last visible message; 0 for a queue without any."""
        queue = self._table.get(topic, queue_id)
        return queue.max_offset if queue is not None else 0

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Return the logical offset of the oldest message; 0 for a queue that never had one."""
        queue = self._table.get(topic, queue_id)
        return queue.min_offset if queue is not None else 0

    def message_in_queue(self, topic: str, queue_id: int, queue_offset: int) -> MessageExt | None:
        """Return the message with that logical offset, or None. Its body is as stored."""
        queue = self._table.get(topic, queue_id)
        record = self._record_of(queue, queue_offset) if queue is not None else None
        return _decode(record) if record is not None else None

    def _record_of(self, queue: ConsumeQueue, queue_offset: int) -> bytes | None:
        entry = queue.entry(queue_offset)
        return self._entries.record_of(queue, queue_offset, entry) if entry is not None else None

    # --- by time -----------------------------------------------------------------------------------------------------

    def offset_by_time(self, topic: str, queue_id: int, timestamp_ms: int) -> int:
        """Return the logical offset of the message with the store time nearest to ``timestamp_ms``; of two, the older
        one.

        As in RocketMQ that may be a message stored before the time, and is the last one if all are older: a caller that
        does not want these compares the times. Of several messages of exactly that millisecond it is the first; 0 for
        an unknown queue.
        """
        queue = self._table.get(topic, queue_id)
        if queue is None:
            return 0
        low, high = queue.min_offset, queue.max_offset
        while low < high:
            middle = (low + high) // 2
            stored_ms = self._store_timestamp_at(queue, middle)
            if stored_ms is not None and stored_ms >= timestamp_ms:
                high = middle
            else:
                low = middle + 1
        # ``low`` is the first message at or after the time; the one before it may be nearer.
        older = self._store_timestamp_at(queue, low - 1) if low > queue.min_offset else None
        newer = self._store_timestamp_at(queue, low) if low < queue.max_offset else None
        if older is not None and (newer is None or timestamp_ms - older <= newer - timestamp_ms):
            return low - 1
        return low

    def earliest_message_time(self, topic: str, queue_id: int) -> int:
        """Return the store time (ms) of the oldest message of the queue, -1 if it has none."""
        queue = self._table.get(topic, queue_id)
        stored_ms = self._store_timestamp_at(queue, queue.min_offset) if queue is not None else None
        return -1 if stored_ms is None else stored_ms

    def last_store_timestamp(self, topic: str, queue_id: int) -> int:
        """Return the store time (ms) of the newest message of the queue, 0 if it has none."""
        queue = self._table.get(topic, queue_id)
        if queue is None:
            return 0
        if queue.last_store_timestamp == 0 and queue.max_offset > queue.min_offset:
            queue.last_store_timestamp = self._store_timestamp_at(queue, queue.max_offset - 1) or 0
        return queue.last_store_timestamp

    def _store_timestamp_at(self, queue: ConsumeQueue, offset: int) -> int | None:
        """Return the store time of the message at logical ``offset``, or of an older one if it is missing; None if none
        exists.
        """
        while offset >= queue.min_offset:
            record = self._record_of(queue, offset)
            if record is not None:
                return store_timestamp_of(record)
            offset -= 1
        return None

    # --- by position and by key --------------------------------------------------------------------------------------

    def message_at(self, commit_log_offset: int) -> MessageExt | None:
        """Return the message that begins at ``commit_log_offset``, or None. Its body is as stored."""
        record = self.commit_log.record_at(commit_log_offset)
        return _decode(record) if record is not None else None

    def query_message(
        self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int, *, is_unique_id: bool = False
    ) -> QueryMessageResult:
        """Return messages of ``topic`` with ``key`` as unique id or as one of their KEYS, newest first.

        Only messages stored from ``begin_ms`` to ``end_ms`` match; with ``is_unique_id`` only those with that unique
        id. RocketMQ returns all messages that share the key's hash and leaves the comparison to the client, which finds
        nothing if enough newer messages share it. Here other messages do not count; at most :data:`CANDIDATES_MAX` are
        examined.
        """
        result = QueryMessageResult()
        if self._index is None:
            return result
        result.last_update_timestamp = self._index.last_store_timestamp
        if self._index.files:
            result.last_update_physical_offset = self._index.files[-1].end_offset
        wanted = min(max_count, self.config.max_messages_num_batch)
        seen: dict[int, None] = {}
        for commit_log_offset in islice(self._index.find(topic, key, begin_ms, end_ms), CANDIDATES_MAX):
            if len(result.buffers) >= wanted:
                break
            if commit_log_offset in seen:
                continue
            seen[commit_log_offset] = None
            record = self.commit_log.record_at(commit_log_offset, is_vouched=True)
            message = _decode(record) if record is not None else None
            if record is None or message is None or message.topic != topic:
                continue
            # The index has times to the second, if at all.
            if not begin_ms - 999 <= message.store_timestamp <= end_ms + 999:
                continue
            if key == message.unique_id or (key in message.keys and not is_unique_id):
                result.buffers.append(record)
        return result

    # --- inspection --------------------------------------------------------------------------------------------------

    def consume_queues(self) -> Iterator[tuple[str, int, ConsumeQueue]]:
        """Yield ``(topic, queue id, queue)`` of all queues, sorted."""
        for queue in self._table:
            yield queue.topic, queue.queue_id, queue

    def topics(self) -> list[str]:
        """Return all topics that have a message or had one, sorted."""
        return self._table.topics()

    def consume_queue_entries(self, topic: str, queue_id: int, start: int, count: int) -> list[Entry]:
        """Return ``(commit-log offset, size, tags code)`` of at most ``count`` entries from logical offset ``start``
        on.
        """
        queue = self._table.get(topic, queue_id)
        entries = queue.entries(start, count) if queue is not None else []
        if queue is not None and any(is_ext_address(tags_code) for _, _, tags_code in entries):
            return [(entry[0], entry[1], self._entries.tags_of(queue, entry)[0]) for entry in entries]
        return entries

    def consume_queue_units(
        self, topic: str, queue_id: int, start: int, count: int
    ) -> list[tuple[Entry, ConsumeQueueExtUnit | None]]:
        """Return entries as they are written, each with the unit at its address, or None.

        An entry may contain an address instead of its tags code.
        """
        queue = self._table.get(topic, queue_id)
        entries = queue.entries(start, count) if queue is not None else []
        ext = queue.ext if queue is not None else None
        return [(entry, ext.get(entry[2]) if ext is not None else None) for entry in entries]

    @property
    def entries_rebuilt(self) -> int:
        """Return how many consume-queue entries did not match the log when they were read, and were rebuilt."""
        return self._entries.repair.entries_rebuilt


def _decode(record: bytes) -> MessageExt | None:
    try:
        return decode_stored_message(record)
    except ProtocolError:
        return None
