"""The repair of consume-queue entries that do not match the commit log. RocketMQ 4.9.8 skips their messages.

It runs when a reader meets such an entry. The messages of all entries between the nearest matching entries, in both
directions, can only be in the part of the log between these two; that part is read as in recovery. Entries that differ
from what is found are rewritten. If the entry was right and a single message between two matching neighbours has
another offset, the message is corrected.

For a queue with few messages in a busy log that part may be long, and clients wait meanwhile. So the search advances
one slice at a time, and the reader tries again with the next pull.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.runtime.port import DiskFault
from engine.store.files.consume_queue_entry import CONSUME_QUEUE_ENTRY
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.commit_log import ENVELOPE_MAX_BYTES, CommitLog
from engine.store.log.commit_log_scanner import CommitLogScanner
from engine.store.log.record_check import RecordDamage, damage_of
from engine.store.queues.consume_queue import ConsumeQueue, Entry, is_valid
from engine.store.queues.dispatch_request import DispatchRequest

_log = logging.getLogger("glassmq.store")

#: How much of the log is read without a break: a few milliseconds.
_SLICE_MESSAGES = 1_000
_SLICE_BYTES = 4 * 1024 * 1024
#: Bounds of the stored state: searches that wait for their next slice or found nothing, and entries that one search
#: finds.
_SEARCHES_MAX = 100
_FOUND_MAX = 10_000
#: How many repairs are logged one by one.
_LINES_MAX = 100


class SearchNotFinished(Exception):
    """The search for the entry of ``queue_offset`` has not finished; ask again."""

    def __init__(self, queue_offset: int) -> None:
        super().__init__(f"the entry of offset {queue_offset} is searched for in the commit log")
        self.queue_offset = queue_offset


@dataclass(slots=True)
class _Search:
    """A search for the entries between ``before`` and ``behind``, which match; ``before`` may be missing."""

    wanted: int
    before: int | None
    behind: int
    log_min_offset: int
    messages: Iterator[DispatchRequest]
    found: dict[int, DispatchRequest] = field(default_factory=dict)
    #: Messages of the queue whose offset cannot be in this range; more than one prove nothing.
    strays: list[DispatchRequest] = field(default_factory=list)

    @property
    def searched_before(self) -> int:
        """Return the offset below which all messages in the log were found, because they are in order."""
        return self.behind if len(self.found) < _FOUND_MAX else max(self.found)


class _Lost(NamedTuple):
    """A finished search: the log has no further messages between ``before`` and ``behind`` than were found."""

    queue: ConsumeQueue
    before: int | None
    behind: int
    log_min_offset: int

    def has(self, queue: ConsumeQueue, queue_offset: int, log_min_offset: int) -> bool:
        """Return whether a search for ``queue_offset`` would find nothing either."""
        is_behind_begin = self.before is None or self.before < queue_offset
        is_same = self.queue is queue and self.log_min_offset == log_min_offset
        return is_same and is_behind_begin and queue_offset < self.behind


class ConsumeQueueRepair:
    """A service that rewrites mismatched consume-queue entries.

    :ivar entries_rebuilt: how many entries were rewritten since the start.
    """

    def __init__(self, config: MessageStoreConfig, commit_log: CommitLog) -> None:
        self._delay_levels_ms = config.delay_levels_ms
        self._max_record_size = config.max_message_size + ENVELOPE_MAX_BYTES
        self._commit_log = commit_log
        self._searches: dict[tuple[str, int], _Search] = {}
        #: The last search of a queue that did not find its message: one search covers all entries in a hole of the log.
        self._lost: dict[tuple[str, int], _Lost] = {}
        self._line_count = 0
        self.entries_rebuilt = 0

    def record_of(self, queue: ConsumeQueue, queue_offset: int, *, is_patient: bool) -> bytes | None:
        """Return the stored message of ``queue_offset``, whose entry does not match; None if the log has no whole one.

        Raises :class:`SearchNotFinished`, unless ``is_patient``: then all slices are read now.
        """
        key, log_min_offset = (queue.topic, queue.queue_id), self._commit_log.min_offset
        lost = self._lost.get(key)
        if lost is not None and lost.has(queue, queue_offset, log_min_offset):
            return None
        search = self._searches.pop(key, None)
        if search is None or search.wanted != queue_offset or search.log_min_offset != log_min_offset:
            search = self._begin(queue, queue_offset)
        while not self._advance(queue, search):
            if is_patient:
                continue
            if len(self._searches) >= _SEARCHES_MAX:
                del self._searches[next(iter(self._searches))]
            self._searches[key] = search
            raise SearchNotFinished(queue_offset)
        if queue_offset not in search.found:
            self._use_stray(search)
        are_all_written = self._write(queue, search.found)
        if queue_offset not in search.found:
            if are_all_written:
                if len(self._lost) >= _SEARCHES_MAX:
                    del self._lost[next(iter(self._lost))]
                self._lost[key] = _Lost(queue, search.before, search.searched_before, search.log_min_offset)
            return None
        found = search.found[queue_offset]
        commit_log_offset, size = found.commit_log_offset, found.size_bytes
        record = self._commit_log.read_bytes(commit_log_offset, size)
        return record if damage_of(record, 0, size, commit_log_offset, queue, queue_offset) is None else None

    # --- searching ---------------------------------------------------------------------------------------------------

    def _begin(self, queue: ConsumeQueue, queue_offset: int) -> _Search:
        log = self._commit_log
        before, behind = self._nearest(queue, queue_offset, -1), self._nearest(queue, queue_offset, 1)
        start = before[1][0] + before[1][1] if before is not None else log.min_offset
        end = behind[1][0] if behind is not None else log.max_offset
        scanner = CommitLogScanner(log.files, self._delay_levels_ms, log.max_offset)
        return _Search(
            queue_offset,
            before[0] if before is not None else None,
            behind[0] if behind is not None else queue.max_offset,
            log.min_offset,
            scanner.scan_between(start, end),
        )

    def _nearest(self, queue: ConsumeQueue, queue_offset: int, direction: int) -> tuple[int, Entry] | None:
        """Return the nearest matching entry that doubling strides find."""
        stride = 1
        while queue.min_offset <= (offset := queue_offset + direction * stride) < queue.max_offset:
            entry = queue.entry(offset)
            if entry is not None and self._fits(queue, offset, entry):
                return offset, entry
            stride *= 2
        return None

    def _fits(self, queue: ConsumeQueue, queue_offset: int, entry: Entry) -> bool:
        commit_log_offset, size, _ = entry
        if not is_valid(entry) or size > self._max_record_size or commit_log_offset < self._commit_log.min_offset:
            return False
        record = self._commit_log.read_bytes(commit_log_offset, size)
        damage = damage_of(record, 0, size, commit_log_offset, queue, queue_offset)
        return damage in (None, RecordDamage.BODY)

    def _advance(self, queue: ConsumeQueue, search: _Search) -> bool:
        """Read one slice; return whether the search is over."""
        lowest = search.before + 1 if search.before is not None else queue.min_offset
        size_bytes = 0
        for count, request in enumerate(search.messages, 1):
            if request.topic == queue.topic and request.queue_id == queue.queue_id:
                offset = request.queue_offset
                if not lowest <= offset < search.behind:
                    search.strays.append(request)
                    del search.strays[2:]
                elif len(search.found) < _FOUND_MAX or offset == search.wanted:
                    # The later one of two: the older belongs to a deleted topic with that name.
                    search.found[offset] = request
            size_bytes += request.size_bytes
            if count >= _SLICE_MESSAGES or size_bytes >= _SLICE_BYTES:
                # After a matching entry there are only messages of the same topic as the entry's.
                return search.before is not None and search.wanted in search.found
        return True

    def _use_stray(self, search: _Search) -> None:
        """Use the only message between two neighbours as the one that is missing between them."""
        if search.before == search.wanted - 1 and search.behind == search.wanted + 1 and len(search.strays) == 1:
            stray = search.strays[0]
            self._commit_log.put_place_right(stray.commit_log_offset, stray.queue_id, search.wanted)
            self._say(
                f"commit log: the message at {stray.commit_log_offset} said {stray.topic}/{stray.queue_id} offset "
                f"{stray.queue_offset}, but it belongs to offset {search.wanted}; corrected"
            )
            search.found[search.wanted] = stray.placed_at(stray.queue_id, search.wanted)

    # --- writing -----------------------------------------------------------------------------------------------------

    def _write(self, queue: ConsumeQueue, found: dict[int, DispatchRequest]) -> bool:
        """Return whether the disk took all entries."""
        wrong: list[int] = []
        are_all_written = True
        for queue_offset in sorted(found):
            request = found[queue_offset]
            entry = queue.entry(queue_offset)
            if entry is None or entry[:2] != (request.commit_log_offset, request.size_bytes):
                wrong.append(queue_offset)
                data = CONSUME_QUEUE_ENTRY.pack(request.commit_log_offset, request.size_bytes, request.tags_code)
                try:
                    queue.put_entries(queue_offset, data)
                except DiskFault as fault:
                    self._say(f"an entry of consume queue {queue.topic}/{queue.queue_id} cannot be rebuilt: {fault}")
                    are_all_written = False
                    break
        if wrong:
            queue.flushed_offset = min(queue.flushed_offset, wrong[0])
            self.entries_rebuilt += len(wrong)
            self._say(
                f"consume queue {queue.topic}/{queue.queue_id}: {len(wrong)} of its entries, from offset {wrong[0]} to "
                f"{wrong[-1]}, did not fit the commit log; rebuilt from it"
            )
        return are_all_written

    def _say(self, line: str) -> None:
        self._line_count += 1
        if self._line_count <= _LINES_MAX:
            _log.warning("%s", line)
        elif self._line_count == _LINES_MAX + 1:
            _log.warning("further repairs of consume queues are counted only")
