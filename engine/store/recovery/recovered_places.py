"""Determines the consume-queue offset of each message that recovery finds. RocketMQ 4.9.8 trusts the offset in the
message.

No checksum covers a message's logical offset, queue id or topic, so they cannot be trusted alone: a flipped bit, or
data that an earlier use of the file left after the end of the log, would hide a whole queue. There is further evidence:

* **Neighbours.** The messages of a queue have consecutive offsets in the order of the log. So the decision about a
  message that does not follow its predecessor waits for its successor::

      7 8 3 10          3 is damaged, it is 9                    corrected in the log
      7 8 3 9           3 belongs to another queue               left out
      7 8 3 4           entries already in use do not change     3 and 4 left out
      7 8 [damage] 11   9 and 10 were in the damage              fillers
      7 8 11 12         9 and 10 are nowhere                     fillers

* **The old entries.** The entries from before this recovery may be torn or out of date, so they prove nothing about the
  log; but an entry that points to a message in doubt, with exactly its size, is no coincidence. An entry with offset 0
  shows that the topic was deleted and created again; other deletions are recorded
  (:mod:`engine.store.files.deleted_topics`).

A message whose offset stays uncertain is left out. It can still be found by its key and by its commit-log offset. If
all messages at the end are left out, and are older than the last one that is not, the log ends before them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.protocol.message.record_layout import FIXED_SIZE_BYTES
from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES, FILLER_SIZE
from engine.store.queues.consume_queue import ConsumeQueue
from engine.store.queues.dispatch_request import DispatchRequest, belongs_in_consume_queue
from engine.store.recovery.recovery_report import RecoveryReport, counted, limited
from engine.store.services.store_parts import StoreParts

#: Messages whose entries are written together.
_BATCH_SIZE = 1_000
#: How many of the old entries are kept in memory as evidence: three million, the newest of each queue.
_OLD_ENTRIES_MAX_BYTES = 64 * 1024 * 1024

_POSITION_AND_SIZE = struct.Struct(">qi")

RecoveredQueueKey = tuple[str, int]


@dataclass(slots=True)
class _Run:
    """The messages of one queue so far. ``end`` is the offset expected of the next one; None: any."""

    end: int | None
    #: A message that does not follow, until the next one decides about it.
    pending: DispatchRequest | None = None
    #: Bytes of damage before the last message, and messages left out since then.
    damaged_bytes: int = 0
    left_out: int = 0


@dataclass(slots=True)
class RecoveredPlaces:
    """A writer of the missing entries, which gets their messages in the order of the log. Raises ``DiskFault``.

    :param is_begun_at_zero: whether the first message of a queue without entries must have offset 0.
    :ivar damaged_bytes: how much of the log was skipped so far; the reader of the log sets it.
    :ivar made_again: queues whose topic was deleted and created again.
    :ivar first_change: the first position in the log at which a message was corrected; None if none was.
    :ivar stale_from: after all messages: where those of an earlier use of the file begin; None: nowhere.
    """

    parts: StoreParts
    report: RecoveryReport
    is_begun_at_zero: Callable[[RecoveredQueueKey], bool]
    damaged_bytes: int = 0
    made_again: dict[RecoveredQueueKey, None] = field(default_factory=dict)
    first_change: int | None = None
    stale_from: int | None = None
    _runs: dict[RecoveredQueueKey, _Run] = field(default_factory=dict)
    _ready: list[DispatchRequest] = field(default_factory=list)
    _remarks: list[str] = field(default_factory=list)
    #: The last message of the log with a known offset, and those after it without one, each with a remark.
    _last: DispatchRequest | None = None
    _strays: list[tuple[DispatchRequest, str]] = field(default_factory=list)
    #: Pieces of the old queues: (queue, its first offset, entries).
    _old_entries: list[tuple[RecoveredQueueKey, int, bytes]] = field(default_factory=list)
    _old_bytes: int = 0

    def remember(self, queue: ConsumeQueue, start: int) -> None:
        """Keep the entries from offset ``start`` on, which are about to be cleared."""
        for file in reversed(queue.files.files):
            first = max(file.start_offset, start * ENTRY_SIZE_BYTES)
            length = min(queue.max_offset * ENTRY_SIZE_BYTES, file.end_offset) - first
            if length <= 0 or self._old_bytes + length > _OLD_ENTRIES_MAX_BYTES:
                break
            self._old_bytes += length
            data = file.file.read_at(first - file.start_offset, length)
            self._old_entries.append(((queue.topic, queue.queue_id), first // ENTRY_SIZE_BYTES, data))

    def add(self, request: DispatchRequest) -> None:
        """Process the next message."""
        if not belongs_in_consume_queue(request.sys_flag):
            if request.queue_offset:  # messages that get no offset say 0
                self._leave_out(self._run_of((request.topic, request.queue_id)), request)
            elif self._last is not None and request.store_timestamp < self._last.store_timestamp:
                self._strays.append((request, ""))
            else:
                self.has_place(request)
            return
        run = self._run_of((request.topic, request.queue_id))
        if run.pending is not None:
            self._judge(run, run.pending, request.queue_offset)
        end = run.end
        if request.queue_offset == end or (end is not None and end < request.queue_offset <= end + self._lost(run)):
            self._accept(run, request)
            return
        place = self._old_place_of(request)
        if place is None:
            run.pending = request
        else:
            self._put_at(request, *place)

    def finish(self) -> None:
        """Judge what is still open after the last message."""
        waiting = [run for run in self._runs.values() if run.pending is not None]
        missing = self.report.messages_left_out + len(waiting) - 1
        for run in waiting:
            request, end = run.pending, run.end
            assert request is not None
            run.pending = None
            if end is None or end < request.queue_offset <= end + missing:
                self._accept(run, request)
            elif self._is_explained(request, end):
                self._accept(run, self._put_right(request, request.queue_id, end))
            else:
                self._leave_out(run, request)
        self._write()
        self._judge_end()
        self.report.lines += limited(self._remarks, "messages or queues")

    def _is_explained(self, request: DispatchRequest, end: int) -> bool:
        """Return whether the offset is explained by one changed bit, or by a single message of a topic created again.

        A message after all others that is older than they are is not explained: it is from an earlier use of the file.
        """
        last = self._last
        is_stale = (
            last is not None
            and last.commit_log_offset < request.commit_log_offset
            and request.store_timestamp < last.store_timestamp
        )
        if is_stale:
            return False
        return request.queue_offset == 0 or (request.queue_offset ^ end).bit_count() == 1

    def _judge_end(self) -> None:
        """Decide whether the messages without an offset that end the log are from an earlier use of the file."""
        strays, last = self._strays, self._last
        if last is not None and strays and all(stray.store_timestamp < last.store_timestamp for stray, _ in strays):
            self.stale_from = min(stray.commit_log_offset for stray, _ in strays)
            self.report.messages_left_out -= sum(bool(remark) for _, remark in strays)
            self._remarks.append(
                f"commit log: {counted(len(strays), 'message', 'messages')} from {self.stale_from} on say places that "
                "are taken, and older times than the message before: they are left from an earlier use of the file, "
                "and the log ends there"
            )
        else:
            self._remarks += [remark for _, remark in strays if remark]

    # --- checks ------------------------------------------------------------------------------------------------------

    def _run_of(self, key: RecoveredQueueKey) -> _Run:
        run = self._runs.get(key)
        if run is None:
            queue = self.parts.consume_queues.get(*key)
            end = queue.max_offset if queue is not None else 0
            run = self._runs[key] = _Run(end if end or self.is_begun_at_zero(key) else None)
        return run

    def _lost(self, run: _Run) -> int:
        """Return how many messages may have been lost since the last one of ``run``."""
        return (self.damaged_bytes - run.damaged_bytes) // FIXED_SIZE_BYTES + run.left_out

    def _judge(self, run: _Run, request: DispatchRequest, following: int) -> None:
        """Decide about ``request``, after which the offset ``following`` came."""
        run.pending = None
        claimed, end = request.queue_offset, run.end
        if end is None:
            is_right = following > claimed
        elif following == end + 1:
            is_right, request = True, self._put_right(request, request.queue_id, end)
        else:
            is_right = following == claimed + 1 and claimed > end
        if is_right:
            self._accept(run, request)
        else:
            self._leave_out(run, request)

    def _old_place_of(self, request: DispatchRequest) -> tuple[RecoveredQueueKey, int] | None:
        """Return the queue and offset whose old entry points to ``request``; None if no entry or more than one does."""
        wanted = _POSITION_AND_SIZE.pack(request.commit_log_offset, request.size_bytes)
        found: dict[tuple[RecoveredQueueKey, int], None] = {}
        for key, first, entries in self._old_entries:
            at = entries.find(wanted)
            while at >= 0:
                if at % ENTRY_SIZE_BYTES == 0:
                    found[key, first + at // ENTRY_SIZE_BYTES] = None
                at = entries.find(wanted, at + 1)
        return next(iter(found)) if len(found) == 1 else None

    # --- deciding ----------------------------------------------------------------------------------------------------

    def has_place(self, request: DispatchRequest) -> None:
        """Note that everything before ``request`` is part of the log, because its offset is known."""
        if self._last is None or request.commit_log_offset > self._last.commit_log_offset:
            self._last = request
        if self._strays:
            strays, self._strays = self._strays, []
            for stray, remark in strays:
                if stray.commit_log_offset > request.commit_log_offset:
                    self._strays.append((stray, remark))
                elif remark:
                    self._remarks.append(remark)

    def _accept(self, run: _Run, request: DispatchRequest) -> None:
        self.has_place(request)
        end = run.end
        if end is not None and request.queue_offset > end:
            self._remarks.append(
                f"consume queue {name_of(request)} has no message for offset {end}"
                + (f" to {request.queue_offset - 1}" if request.queue_offset > end + 1 else "")
            )
        run.end = request.queue_offset + 1
        run.damaged_bytes, run.left_out = self.damaged_bytes, 0
        self._ready.append(request)
        if len(self._ready) >= _BATCH_SIZE:
            self._write()

    def _put_at(self, request: DispatchRequest, key: RecoveredQueueKey, queue_offset: int) -> None:
        """Put ``request`` at the offset of its old entry."""
        if key[0] != request.topic:
            self._leave_out(self._run_of((request.topic, request.queue_id)), request, f"{key[0]}/{key[1]}")
            return
        if (key[1], queue_offset) != (request.queue_id, request.queue_offset):
            request = self._put_right(request, key[1], queue_offset)
        run = self._run_of(key)
        if run.end is None or queue_offset >= run.end:
            self._accept(run, request)
        elif queue_offset == 0:
            self._begin_anew(run, request)
            self._accept(run, request)
        else:
            self.has_place(request)
            self._write()
            self._ready.append(request)
            self._say_who_had_the_place(request)
            self._write()

    def _say_who_had_the_place(self, request: DispatchRequest) -> None:
        queue = self.parts.consume_queues.get(request.topic, request.queue_id)
        entry = queue.entry(request.queue_offset) if queue is not None else None
        if entry is not None and entry[1] != FILLER_SIZE and entry[0] != request.commit_log_offset:
            self.report.messages_left_out += 1
            self._remarks.append(
                f"commit log: the message at {entry[0]} claims the same place as the one at "
                f"{request.commit_log_offset}, {name_of(request)} offset {request.queue_offset}; it is left out"
            )

    def _begin_anew(self, run: _Run, request: DispatchRequest) -> None:
        """Restart the queue: the topic was deleted and created again, so all entries so far are of the deleted
        topic.
        """
        self._write()
        self._remarks.append(
            f"topic {request.topic} was deleted and made again: consume queue {name_of(request)} begins again at "
            f"position {request.commit_log_offset} of the commit log; of what it held before, "
            f"{counted(run.end or 0, 'offset is', 'offsets are')} not served any more"
        )
        self.made_again[request.topic, request.queue_id] = None
        queue = self.parts.consume_queues.get_or_create(request.topic, request.queue_id)
        queue.files.remove_all()
        queue.clear_from(0)
        run.end = 0

    def _put_right(self, request: DispatchRequest, queue_id: int, queue_offset: int) -> DispatchRequest:
        """Write the right queue id and offset into the message, because clients rely on them."""
        start = request.commit_log_offset
        self._remarks.append(
            f"commit log: the message at {start} said {name_of(request)} offset {request.queue_offset}, but it belongs "
            f"to {request.topic}/{queue_id} offset {queue_offset}; corrected"
        )
        self.report.messages_put_right += 1
        self.parts.commit_log.put_place_right(start, queue_id, queue_offset)
        self.first_change = start if self.first_change is None else min(self.first_change, start)
        return request.placed_at(queue_id, queue_offset)

    def _leave_out(self, run: _Run, request: DispatchRequest, place: str = "") -> None:
        run.left_out += 1
        self.report.messages_left_out += 1
        remark = (
            f"commit log: the message at {request.commit_log_offset} says {name_of(request)} offset "
            f"{request.queue_offset}, where it cannot belong"
            + (f" (an entry of consume queue {place} points to it)" if place else "")
            + "; it is left out"
        )
        if self._last is not None and request.commit_log_offset > self._last.commit_log_offset:
            self._strays.append((request, remark))
        else:
            self._remarks.append(remark)

    def _write(self) -> None:
        self.report.messages_dispatched += len(self._ready)
        if self._ready:
            self.parts.dispatcher.put_consume_queue_entries(self._ready)
        self._ready.clear()


def name_of(request: DispatchRequest) -> str:
    """Return topic and queue id, as reports print them."""
    return f"{request.topic}/{request.queue_id}"
