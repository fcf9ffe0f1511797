"""The collector of the messages of one pull (RocketMQ: ``DefaultMessageStore.getMessage``)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from operator import itemgetter
from typing import Final

from engine.protocol.byte_strings import read_i32_be, read_i64_be
from engine.protocol.message.record_layout import (
    COMMIT_LOG_OFFSET_POSITION,
    IDENTITY,
    MAGIC_POSITION,
    MESSAGE_MAGIC,
    QUEUE_ID_POSITION,
    QUEUE_OFFSET_POSITION,
    store_timestamp_of,
)
from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES, FILLER_SIZE
from engine.store.files.mapped_file import MappedFile
from engine.store.log.record_check import RecordDamage, damage_of
from engine.store.queues.consume_queue import ConsumeQueue, Entry
from engine.store.queues.consume_queue_ext import is_ext_address
from engine.store.reading.consume_queue_repair import SearchNotFinished
from engine.store.reading.entry_reader import EntryReader
from engine.store.reading.get_message_result import GetMessageResult, GetMessageStatus
from engine.store.reading.message_filter import MessageFilter

#: Messages of other queues are between two messages of a queue. Up to this many bytes of them, on average, are read as
#: well, because that takes less time than a second read.
_GAP_BYTES: Final = 4096
#: The maximum total cost of filters in one request, as ``MessageFilter.effort`` counts it: about 50 ms of processor
#: time. An expression of 100 characters may evaluate 1,000 messages, more than a request examines.
FILTER_EFFORT_MAX: Final = 100_000
#: Bounds of a bulk read, with which a reader of a whole topic saves itself and the broker most of the requests. Such a
#: read takes a few milliseconds, during which other clients wait.
BULK_MAX_BYTES = 1024 * 1024
BULK_MAX_MESSAGES = 4_096

_size_of = itemgetter(1)


class MessageCollector:
    """A collector for the messages of one request."""

    def __init__(
        self,
        entry_reader: EntryReader,
        queue: ConsumeQueue,
        max_messages: int,
        message_filter: MessageFilter | None,
        max_bytes: int | None,
    ) -> None:
        self._entry_reader = entry_reader
        self._config = entry_reader.config
        self._commit_log = entry_reader.commit_log
        self._queue = queue
        self._max_messages = max_messages if max_bytes is None else min(max_messages, BULK_MAX_MESSAGES)
        self._max_bytes = max_bytes
        self._filter = message_filter
        #: The result so far; views are of the file ``_viewed`` only.
        self._parts: list[bytes | memoryview] = []
        self._viewed: MappedFile | None = None
        #: (index in the parts, entry, its logical offset, what is wrong) of messages left out.
        self._damaged: list[tuple[int, Entry, int, RecordDamage]] = []
        self._count = 0
        self._last_size = 0
        self._kept_back = 0

    def collect(self, offset: int) -> GetMessageResult:
        """Return the messages from logical ``offset`` on."""
        queue = self._queue
        scan_entries = max(self._config.max_filter_message_size_bytes // ENTRY_SIZE_BYTES, self._max_messages)
        # Without a filter, as many entries as messages are needed; with one, as many as may be examined.
        count = self._max_messages
        if self._filter is not None:
            count = min(scan_entries, max(1, FILTER_EFFORT_MAX // max(1, self._filter.effort)))
        status = GetMessageStatus.NO_MATCHED_MESSAGE
        entries = queue.entries(offset, max(count, 1))
        if not entries:
            status = GetMessageStatus.OFFSET_FOUND_NULL
        next_offset = offset + self._take_whole(entries, offset)
        if self._count:
            status = GetMessageStatus.FOUND
        elif entries and entries[0][0] < self._commit_log.min_offset and entries[0][1] != FILLER_SIZE:
            status = GetMessageStatus.MESSAGE_WAS_REMOVING
        data = b"".join(self._parts)
        last_ms = store_timestamp_of(data, len(data) - self._last_size) if self._count else 0
        return GetMessageResult(
            status,
            next_offset,
            queue.min_offset,
            queue.max_offset,
            data,
            self._count,
            last_ms,
            self._kept_back,
        )

    def _take_whole(self, entries: list[Entry], first_offset: int) -> int:
        """Take messages as ``_take`` does, and repair damaged ones if possible. Stops where a search for an entry must
        continue.
        """
        while True:
            try:
                done = self._take(entries, first_offset)
                self._mend()
                return done
            except SearchNotFinished as search:
                entries = entries[: search.queue_offset - first_offset]
                self._parts, self._viewed, self._damaged = [], None, []
                self._count = self._last_size = self._kept_back = 0
            if not entries:
                return 0

    def _take(self, entries: list[Entry], first_offset: int) -> int:
        """Read the matching messages of ``entries``, the first of which has ``first_offset``; return how many are
        finished.
        """
        message_filter = self._filter
        max_count, max_bytes = self._limits(entries)
        if message_filter is None:
            return self._take_first(entries[:max_count], first_offset, max_bytes)
        wanted: list[Entry] = []
        wanted_offsets: list[int] = []
        taken = taken_bytes = 0
        done = len(entries)
        for index, entry in enumerate(entries):
            size = entry[1]
            if size == FILLER_SIZE:
                continue
            if size <= 0:  # its tags cannot be trusted either: have the entry rebuilt
                self._entry_reader.record_of(self._queue, first_offset + index, entry, False)
                entry = self._queue.entry(first_offset + index) or entry
            if not self._may_match(message_filter, entry):
                self._kept_back += 1
                continue
            if taken and (taken >= max_count or taken_bytes + size > max_bytes):
                done = index
                break
            if message_filter.reads_message:
                record = self._entry_reader.record_of(self._queue, first_offset + index, entry, False)
                if record is None:
                    continue
                if not message_filter.matches_commit_log(record):
                    self._kept_back += 1
                    continue
                self._add(record, 1, len(record))
            else:
                wanted.append(entry)
                wanted_offsets.append(first_offset + index)
            taken += 1
            taken_bytes += max(0, size)
        self._read(wanted, wanted_offsets)
        return done

    def _take_first(self, entries: list[Entry], first_offset: int, max_bytes: int) -> int:
        """Take the first messages that fit, but at least one, without a filter."""
        sizes = list(map(_size_of, entries))
        has_fillers = FILLER_SIZE in sizes
        if has_fillers or min(sizes, default=0) < 0:  # a negative size is damage; it must not make room
            sizes = [0 if size == FILLER_SIZE else max(0, size) for size in sizes]
        fit = bisect_right(list(accumulate(sizes)), max_bytes)
        # Fillers at the start are not messages: the first message after them is taken whatever its size is.
        first = next((place for place, size in enumerate(sizes) if size), len(sizes) - 1)
        done = max(fit, first + 1)
        offsets: Sequence[int] = range(first_offset, first_offset + done)
        wanted = entries[:done]
        if has_fillers:
            offsets = [offset for offset, entry in zip(offsets, wanted, strict=True) if entry[1] != FILLER_SIZE]
            wanted = [entry for entry in wanted if entry[1] != FILLER_SIZE]
        self._read(wanted, offsets)
        return done

    def _may_match(self, message_filter: MessageFilter, entry: Entry) -> bool:
        tags_code, unit = entry[2], None
        if is_ext_address(tags_code):
            tags_code, unit = self._entry_reader.tags_of(self._queue, entry)
        return message_filter.matches_consume_queue(tags_code, unit)

    def _limits(self, entries: list[Entry]) -> tuple[int, int]:
        config = self._config
        if self._max_bytes is not None:
            return self._max_messages, min(self._max_bytes, BULK_MAX_BYTES)
        if entries and self._commit_log.max_offset - entries[0][0] > config.access_message_in_memory_max_bytes:
            return (
                min(self._max_messages, config.max_transfer_count_on_message_in_disk),
                config.max_transfer_bytes_on_message_in_disk,
            )
        return (
            min(self._max_messages, config.max_transfer_count_on_message_in_memory),
            config.max_transfer_bytes_on_message_in_memory,
        )

    def _read(self, wanted: list[Entry], offsets: Sequence[int]) -> None:
        """Read messages that are close together in the log with one read; otherwise one half of them after the other.

        :param offsets: the logical offset of each of ``wanted``.
        """
        if not wanted:
            return
        log, (start, _, _), (last, last_size, _) = self._commit_log, wanted[0], wanted[-1]
        length = last + last_size - start
        file = log.files.find(start)
        is_near = length - sum(map(_size_of, wanted)) <= _GAP_BYTES * len(wanted)
        if file is not None and is_near and 0 < length <= min(file.end_offset, log.max_offset) - start:
            if file is not self._viewed:
                self._let_go_of_views()
                self._viewed = file
            is_known = log.sums.hold(file, wanted)
            view = file.file.view_at(start - file.start_offset, length)
            if not (is_known and self._takes_all(view, start, wanted, offsets)):
                self._cut_out(view, start, wanted, offsets)
        elif len(wanted) > 1:
            middle = len(wanted) // 2
            self._read(wanted[:middle], offsets[:middle])
            self._read(wanted[middle:], offsets[middle:])
        else:
            self._leave_out(wanted[0], offsets[0], RecordDamage.NO_MESSAGE)

    def _takes_all(self, view: memoryview, start: int, wanted: list[Entry], offsets: Sequence[int]) -> bool:
        """Take all of ``wanted`` if their blocks are unchanged since the messages were found good and all entries
        match.

        Then it is enough to check queue id and offset of each message, and the topic of the first and the last. Returns
        False if nothing was added; :meth:`_cut_out` is the slow path.
        """
        queue = self._queue
        for entry, queue_offset in ((wanted[0], offsets[0]), (wanted[-1], offsets[-1])):
            if damage_of(view, entry[0] - start, entry[1], entry[0], queue, queue_offset) is not None:
                return False
        magic_at, queue_id_at = MAGIC_POSITION, QUEUE_ID_POSITION
        queue_offset_at, place_at = QUEUE_OFFSET_POSITION, COMMIT_LOG_OFFSET_POSITION
        queue_id, data = queue.queue_id, bytes(view)
        last_at = len(data) - IDENTITY.size
        parts: list[bytes] = []
        run_start = run_end = 0
        for (offset, size, _), queue_offset in zip(wanted, offsets, strict=True):
            at = offset - start
            if (
                not run_end <= at <= last_at
                or read_i32_be(data, at) != size
                or read_i32_be(data, at + magic_at) != MESSAGE_MAGIC
                or read_i32_be(data, at + queue_id_at) != queue_id
                or read_i64_be(data, at + queue_offset_at) != queue_offset
                or read_i64_be(data, at + place_at) != offset
            ):
                return False
            if at != run_end:
                parts.append(data[run_start:run_end])
                run_start = at
            run_end = at + size
        parts.append(data[run_start:run_end])
        self._parts += parts
        self._count += len(wanted)
        self._last_size = wanted[-1][1]
        return True

    def _cut_out(self, view: memoryview, start: int, wanted: list[Entry], offsets: Sequence[int]) -> None:
        """Add the ``wanted`` messages in ``view``, which begins at ``start`` of the log. Consecutive ones become one
        part.
        """
        run_start = run_end = count = last_size = 0
        queue, check_crc = self._queue, self._config.check_crc_on_pull
        for entry, queue_offset in zip(wanted, offsets, strict=True):
            offset, size, _ = entry
            at = offset - start
            damage = damage_of(view, at, size, offset, queue, queue_offset, check_crc=check_crc)
            if count and (damage is not None or at != run_end):
                self._add(view[run_start:run_end], count, last_size)
                count = 0
            if damage is not None:
                self._leave_out(entry, queue_offset, damage)
                continue
            if count == 0:
                run_start = at
            count += 1
            last_size = size
            run_end = at + size
        if count:
            self._add(view[run_start:run_end], count, last_size)

    def _leave_out(self, entry: Entry, queue_offset: int, damage: RecordDamage) -> None:
        """Leave out ``entry``, which leads to no deliverable message. The right message is searched for at the end."""
        self._damaged.append((len(self._parts), entry, queue_offset, damage))
        self._parts.append(b"")

    def _mend(self) -> None:
        """Insert the repaired messages at the positions that were kept for them."""
        if not self._damaged:
            return
        self._let_go_of_views()
        mended_sizes: dict[int, int] = {}
        for place, entry, queue_offset, damage in self._damaged:
            record = self._entry_reader.damaged_record(self._queue, queue_offset, entry, damage, False)
            if record is not None:
                self._parts[place] = record
                mended_sizes[place] = len(record)
        self._count += len(mended_sizes)
        last = max((place for place, part in enumerate(self._parts) if part), default=0)
        self._last_size = mended_sizes.get(last, self._last_size)

    def _let_go_of_views(self) -> None:
        """Release the views: mapping another file may unmap this one, which must not be read after that."""
        self._parts = [bytes(part) for part in self._parts]

    def _add(self, part: bytes | memoryview, count: int, last_size: int) -> None:
        self._parts.append(part)
        self._count += count
        self._last_size = last_size
