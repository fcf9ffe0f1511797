"""Finds messages in the store (RocketMQ: ``DefaultMessageStore``: ``getMessage``, ``queryMessage``,
``getOffsetInQueueByTime``).
"""

from __future__ import annotations

from engine.protocol.errors import ProtocolError
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_stored_message
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.commit_log import CommitLog
from engine.store.log.stored_record import store_timestamp_of
from engine.store.queues.consume_queue import ConsumeQueue, Entry
from engine.store.queues.consume_queue_ext import is_ext_address
from engine.store.queues.consume_queue_table import ConsumeQueueTable
from engine.store.queues.index_service import IndexService
from engine.store.reading.entry_reader import EntryReader
from engine.store.reading.get_message_result import GetMessageResult, GetMessageStatus, QueryMessageResult
from engine.store.reading.message_collector import MessageCollector
from engine.store.reading.message_filter import MessageFilter


class MessageReader:
    """Reads only; never waits."""

    def __init__(
        self,
        config: MessageStoreConfig,
        commit_log: CommitLog,
        consume_queues: ConsumeQueueTable,
        index: IndexService | None,
    ) -> None:
        self._config = config
        self._commit_log = commit_log
        self._consume_queues = consume_queues
        self._index = index
        self.entries = EntryReader(config, commit_log)

    # --- by logical offset -------------------------------------------------------------------------------------------

    def get_message(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        message_filter: MessageFilter | None,
        max_bytes: int | None = None,
    ) -> GetMessageResult:
        """See :meth:`engine.store.message_store.MessageStore.get_message`."""
        queue = self._consume_queues.get(topic, queue_id)
        if queue is None:
            return GetMessageResult(GetMessageStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        min_offset, max_offset = queue.min_offset, queue.max_offset
        if min_offset <= offset < max_offset:
            collector = MessageCollector(
                self.entries, self._config, self._commit_log, queue, max_messages, message_filter, max_bytes
            )
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

    # --- by time -----------------------------------------------------------------------------------------------------

    def offset_by_time(self, topic: str, queue_id: int, timestamp_ms: int) -> int:
        """See :meth:`engine.store.message_store.MessageStore.offset_by_time`."""
        queue = self._consume_queues.get(topic, queue_id)
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
        # ``low`` is the first message at or after the time; the one before it may lie nearer.
        older = self._store_timestamp_at(queue, low - 1) if low > queue.min_offset else None
        newer = self._store_timestamp_at(queue, low) if low < queue.max_offset else None
        if older is not None and (newer is None or timestamp_ms - older <= newer - timestamp_ms):
            return low - 1
        return low

    def earliest_message_time(self, topic: str, queue_id: int) -> int:
        """Store time (ms) of the oldest message of the queue, -1 when it has none."""
        queue = self._consume_queues.get(topic, queue_id)
        stored_ms = self._store_timestamp_at(queue, queue.min_offset) if queue is not None else None
        return -1 if stored_ms is None else stored_ms

    def last_store_timestamp(self, queue: ConsumeQueue) -> int:
        """Store time (ms) of the newest message of ``queue``, 0 when it has none."""
        if queue.last_store_timestamp == 0 and queue.max_offset > queue.min_offset:
            queue.last_store_timestamp = self._store_timestamp_at(queue, queue.max_offset - 1) or 0
        return queue.last_store_timestamp

    def _store_timestamp_at(self, queue: ConsumeQueue, offset: int) -> int | None:
        """Of the message at logical ``offset``; of an older one where that is missing; None when there is none."""
        while offset >= queue.min_offset:
            entry = queue.entry(offset)
            record = self.entries.record_of(queue, offset, entry) if entry is not None else None
            if record is not None:
                return store_timestamp_of(record)
            offset -= 1
        return None

    # --- by entry ----------------------------------------------------------------------------------------------------

    def message_in_queue(self, topic: str, queue_id: int, queue_offset: int) -> MessageExt | None:
        """See :meth:`engine.store.message_store.MessageStore.message_in_queue`."""
        queue = self._consume_queues.get(topic, queue_id)
        entry = queue.entry(queue_offset) if queue is not None else None
        record = self.entries.record_of(queue, queue_offset, entry) if queue is not None and entry is not None else None
        return _decode(record) if record is not None else None

    def consume_queue_entries(self, queue: ConsumeQueue, start: int, count: int) -> list[Entry]:
        """See :meth:`engine.store.message_store.MessageStore.consume_queue_entries`."""
        entries = queue.entries(start, count)
        if any(is_ext_address(tags_code) for _, _, tags_code in entries):
            return [(entry[0], entry[1], self.entries.tags_of(queue, entry)[0]) for entry in entries]
        return entries

    # --- by place and by key -----------------------------------------------------------------------------------------

    def message_at(self, commit_log_offset: int) -> MessageExt | None:
        """The message that begins there, or None."""
        record = self._commit_log.record_at(commit_log_offset)
        return _decode(record) if record is not None else None

    def query_message(self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int) -> QueryMessageResult:
        """See :meth:`engine.store.message_store.MessageStore.query_message`."""
        result = QueryMessageResult()
        if self._index is None:
            return result
        result.last_update_timestamp = self._index.last_store_timestamp
        if self._index.files:
            result.last_update_physical_offset = self._index.files[-1].end_offset
        wanted = min(max_count, self._config.max_messages_num_batch)
        seen: dict[int, None] = {}
        # Twice as many, because different keys may share a hash.
        for commit_log_offset in self._index.find(topic, key, begin_ms, end_ms, wanted * 2):
            if len(result.buffers) >= wanted:
                break
            record = self._commit_log.record_at(commit_log_offset, is_vouched=True)
            message = _decode(record) if record is not None else None
            if record is None or message is None or commit_log_offset in seen:
                continue
            seen[commit_log_offset] = None
            if message.topic == topic and (key == message.unique_id or key in message.keys):
                result.buffers.append(record)
        return result


def _decode(record: bytes) -> MessageExt | None:
    try:
        return decode_stored_message(record)
    except ProtocolError:
        return None
