"""The recovery that makes commit log, consume queues and index consistent at the start (RocketMQ:
``DefaultMessageStore.load``, ``recover``, ``CommitLog.recoverNormally``, ``recoverAbnormally``).

The commit log is the source of truth; consume queues and index can always be rebuilt from it. The steps:

1. Was the last exit a normal one? The file ``abort`` exists while a store runs. It is written before anything else, so
   that a crash during recovery is seen as one; after a crash it stays as it is until the recovery is on the disk.
2. Read what is known to be on disk (:mod:`engine.store.files.recovery_point`). Consume-queue entries after that are
   discarded, because after a crash of the machine any of their pages may be lost; a queue that is shorter than recorded
   is discarded as a whole. Index files that are not known to be durable are deleted.
3. Walk through the log from the first position that any of this needs (after a normal exit: the last file), check
   every message, and write the entries and keys that are missing. A message that is not whole is left out.
4. Cut the log after its last whole message, and the consume queues at the end of the log.

Cases that RocketMQ 4.9.8 handles badly, and what happens here:

================================================= ====================================================================
normal exit, but a consume queue is missing, cut  RocketMQ dispatches from the newest entry of *any* queue on, so that
or full of zeros                                  queue stays empty. Here it is built again from the log.
consume queues end before the log                 Their missing entries are written again, at their own offsets.
consume queues ahead of the log                   Entries that point past the log's end are cut and counted.
checkpoint missing, damaged, or from the future   RocketMQ trusts its times and may skip messages. Here positions
                                                  decide; the times are only checked and renewed.
damage in the middle of the log                   RocketMQ cuts the log there. Here only what is damaged is left out,
                                                  and its logical offsets get filler entries.
a topic deleted and made again before the crash   Its old messages come back and hide the new ones, which have the same
                                                  offsets. Here it is known where they end
                                                  (:mod:`~engine.store.files.deleted_topics`).
a queue all of whose messages have expired        A rebuild would start it at offset 0 again and consumers would skip
                                                  its next messages; its old max offset is kept.
commit-log file of another size                   RocketMQ refuses to start. Here every file has its own size.
================================================= ====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.store.files.abort_file import AbortFile
from engine.store.files.consume_queue_entry import FILLER_ENTRY, FILLER_SIZE
from engine.store.files.recovery_point import QueueExtent, RecoveryPoint, load_recovery_point
from engine.store.files.store_checkpoint import StoreCheckpoint
from engine.store.log.commit_log import ENVELOPE_MAX_BYTES
from engine.store.log.commit_log_scanner import CommitLogScanner
from engine.store.queues.consume_queue import ConsumeQueue
from engine.store.queues.dispatch_request import DispatchRequest
from engine.store.recovery.consume_queue_check import why_not_usable
from engine.store.recovery.recovered_places import RecoveredPlaces
from engine.store.recovery.recovery_report import RecoveryReport, counted, limited
from engine.store.recovery.store_times import StoreTimes
from engine.store.services.store_parts import StoreParts

#: How many messages have their keys put into the index together while the log is read.
_BATCH_SIZE = 1_000
#: The maximum amount of log since the recovery point: an entry that points further is garbage.
_PLAUSIBLE_LOG_BYTES = 1 << 40

_QueueKey = tuple[str, int]


@dataclass(frozen=True, slots=True)
class KnownBounds:
    """The bounds of a log that are known from elsewhere: a group of brokers knows what a majority of it has.

    :ivar end_offset: data after it was never committed, and is discarded. None: everything whole counts.
    :ivar in_doubt_offset: from here on a crash may have torn what belongs together, here or on another machine. None:
        from the end of the flushed data.
    :ivar is_own_doing: this very process had the store open and gave it up, which is neither a crash nor worth logging.
    """

    end_offset: int | None = None
    in_doubt_offset: int | None = None
    is_own_doing: bool = False


class StoreRecovery:
    """One recovery of a store. Call ``run`` once."""

    def __init__(self, parts: StoreParts, checkpoint: StoreCheckpoint, known: KnownBounds) -> None:
        self._parts = parts
        self._checkpoint = checkpoint
        self._known = known
        self._abort_file = AbortFile(parts.disk)
        self._report = RecoveryReport()
        self._places = RecoveredPlaces(parts, self._report, self._is_begun_at_zero)
        self._max_record_size = parts.config.max_message_size + ENVELOPE_MAX_BYTES
        #: The max offset of queues before this recovery changed them.
        self._lengths_before: dict[_QueueKey, int] = {}
        #: Queues that are rebuilt from nothing, with the first offset that they had in the log, and those that are
        #: because they were damaged.
        self._rebuilt: dict[_QueueKey, int] = {}
        self._damaged_queues: dict[_QueueKey, None] = {}
        #: Queues that are kept and have messages in the log: the start of these was found when they were loaded.
        self._begun: dict[_QueueKey, None] = {}
        #: Messages before this position of the log were dispatched durably.
        self._dispatched_before = 0
        #: The extents in the recovery point of the queues that still count.
        self._extents: dict[_QueueKey, QueueExtent] = {}

    def run(self) -> RecoveryReport:
        """Recover. Raises ``DiskFull``, ``DiskFault``."""
        report = self._report
        report.was_clean = not self._abort_file.exists
        if report.was_clean:
            self._abort_file.write(0)
        report.lines += self._parts.commit_log.files.load()
        self._give_up_behind(self._known.end_offset)
        report.lines += self._parts.deleted_topics.load()
        point = self._load_point()
        self._load_queues(point)
        if self._parts.index is not None:
            durable = point.index_files if point is not None else {}
            is_complete = point is not None and point.is_clean
            remarks = self._parts.index.load(durable, is_complete, self._parts.commit_log.min_offset)
            if point is not None:  # without a recovery point, one line has already covered all files
                report.lines += limited(remarks, "index files")
        end_offset = self._scan(point)
        self._cut_log(end_offset, point)
        self._settle_queues(point)
        self._check_times()
        report.commit_log_min_offset = self._parts.commit_log.min_offset
        report.commit_log_max_offset = end_offset
        return report

    def _give_up_behind(self, end_offset: int | None) -> None:
        if end_offset is None:
            return
        if given_up := self._parts.commit_log.clear_from(end_offset, was_clean=self._report.was_clean):
            size = counted(given_up, "byte", "bytes")
            self._report.say(f"commit log: {size} after {end_offset}, which were never committed, were discarded")

    # --- step 2 ------------------------------------------------------------------------------------------------------

    def _load_point(self) -> RecoveryPoint | None:
        report = self._report
        point = load_recovery_point(self._parts.recovery_point_file)
        report.lines += self._parts.recovery_point_file.remarks
        has_log = bool(self._parts.commit_log.files.files)
        if not report.was_clean and not self._known.is_own_doing:
            report.say(
                "the last run did not shut down (file abort was there). A killed process loses nothing of what it had "
                "written, because the operating system keeps it; a crash of the machine loses what was not flushed"
            )
        if point is None and has_log:
            report.say(
                f"{self._parts.recovery_point_file.path} is missing or unusable: all consume queues and the index are "
                "built again from the commit log"
            )
        min_offset = self._parts.commit_log.min_offset
        if point is not None and point.log_min_offset is not None and min_offset > point.log_min_offset and has_log:
            report.say(
                f"commit log: it began at {point.log_min_offset} and begins at {min_offset} now: the files before it "
                + ("were taken away from outside" if report.was_clean else "expired just before, or were taken away")
            )
        return point

    def _load_queues(self, point: RecoveryPoint | None) -> None:
        """Load and check each queue while its file is open, because there may be ten thousand."""
        self._dispatched_before = point.dispatched_offset if point is not None else 0
        known = self._extents = self._extents_in(point)
        lines: list[str] = []

        def look(queue: ConsumeQueue) -> None:
            why = self._forget_what_is_not_durable(queue, known.get((queue.topic, queue.queue_id)))
            if why is not None:
                name = _name((queue.topic, queue.queue_id))
                lines.append(f"consume queue {name} {why}; it is built again from the commit log")

        queues = self._parts.consume_queues
        self._report.lines += queues.load(look)
        for topic, queue_id in known:
            if queues.get(topic, queue_id) is None:
                look(queues.get_or_create(topic, queue_id))
        self._report.lines += limited(lines, "consume queues")

    def _extents_in(self, point: RecoveryPoint | None) -> dict[_QueueKey, QueueExtent]:
        """Return the extents of the queues in ``point``, except those whose topic was deleted after it."""
        kept: dict[_QueueKey, QueueExtent] = {}
        deleted: dict[str, None] = {}
        for (topic, queue_id), extent in point.queues.items() if point is not None else ():
            if self._parts.deleted_topics.end_of(topic) >= max(1, self._dispatched_before):
                deleted[topic] = None
            else:
                kept[topic, queue_id] = extent
        self._report.unfinished_deletions += deleted
        return kept

    def _forget_what_is_not_durable(self, queue: ConsumeQueue, extent: QueueExtent | None) -> str | None:
        """Discard what may not be durable; return why nothing of ``queue``, which had ``extent``, can be used,
        or None.
        """
        key = (queue.topic, queue.queue_id)
        durable = extent.max_offset if extent is not None else 0
        length, why = self._length_before(queue, durable), None
        if extent is not None:
            why = why_not_usable(queue, extent, self._parts.commit_log, self._dispatched_before)
        self._places.remember(queue, 0 if why is not None else durable)
        if why is not None:
            self._report.rebuilt_queues.append(key)
            self._damaged_queues[key] = None
            # The queue's own length cannot be trusted either.
            length = durable
        self._lengths_before[key] = length
        if why is not None or durable == 0:
            is_of_deleted_topic = self._parts.deleted_topics.end_of(queue.topic) > 0
            self._rebuilt[key] = 0 if why is not None or is_of_deleted_topic else self._first_offset_in_log(queue)
            queue.files.remove_all()
            queue.clear_from(0)
        else:
            if queue.max_offset > durable:
                queue.clear_from(durable)
            queue.correct_min_offset(self._parts.commit_log.min_offset)
            if queue.min_offset < durable:
                self._begun[key] = None
        return why

    def _length_before(self, queue: ConsumeQueue, durable: int) -> int:
        """Return how long ``queue`` was, as far as is known: after ``durable`` a crash may have left anything."""
        if self._report.was_clean and durable:
            return durable
        first = max(self._dispatched_before, self._parts.deleted_topics.end_of(queue.topic))
        for queue_offset, (commit_log_offset, size, _) in queue.entries_backward():
            if queue_offset < durable:
                break
            if first <= commit_log_offset < first + _PLAUSIBLE_LOG_BYTES and 0 < size <= self._max_record_size:
                return queue_offset + 1
        return durable

    def _first_offset_in_log(self, queue: ConsumeQueue) -> int:
        """Return the first logical offset of ``queue`` whose message has not expired, according to its entries."""
        min_offset = self._parts.commit_log.min_offset
        for queue_offset, (commit_log_offset, size, _) in queue.entries_backward():
            if size not in (0, FILLER_SIZE) and commit_log_offset < min_offset:
                return queue_offset + 1
        return 0

    # --- step 3 ------------------------------------------------------------------------------------------------------

    def _scan(self, point: RecoveryPoint | None) -> int:
        """Check and dispatch the messages, and return the end of the log."""
        log = self._parts.commit_log
        report = self._report
        is_quiet = report.was_clean and point is not None and point.is_clean
        quiet_end = max(point.flushed_offset, point.dispatched_offset) if is_quiet and point is not None else None
        torn_from = self._torn_from(point)
        scanner = CommitLogScanner(log.files, self._parts.config.delay_levels_ms, quiet_end, torn_from)
        indexed_before = self._parts.index.indexed_offset if self._parts.index is not None else 0
        in_doubt = not report.was_clean
        report.in_doubt_offset = point.flushed_offset if point is not None else 0
        if self._known.in_doubt_offset is not None:
            report.in_doubt_offset = min(report.in_doubt_offset, self._known.in_doubt_offset)
        batch: list[DispatchRequest] = []
        times = StoreTimes()
        for request in scanner.scan(self._first_file(point)):
            report.messages_checked += 1
            log.last_store_timestamp = request.store_timestamp
            if in_doubt and request.commit_log_offset >= report.in_doubt_offset:
                predecessor = scanner.predecessor(request)
                if predecessor is not None:
                    report.note_successor(predecessor, request.commit_log_offset)
            times.check(request)
            self._places.damaged_bytes = scanner.damaged_bytes
            if self._lacks_entry(request):
                self._places.add(request)
            else:
                self._places.has_place(request)
            if self._parts.index is not None:
                batch.append(request)
                if len(batch) >= _BATCH_SIZE:
                    self._parts.index.put(batch)
                    batch.clear()
        self._places.finish()
        report.lines += limited(times.lines, "messages")
        if self._parts.index is not None:
            self._parts.index.put(batch)
        if not report.was_clean and point is not None:
            self._say_what_was_dispatched_again(indexed_before, scanner.end_offset)
        end_offset = scanner.end_offset if self._places.stale_from is None else self._places.stale_from
        self._give_up_damage(scanner, end_offset)
        report.successors = {place: made for place, made in report.successors.items() if made < end_offset}
        return end_offset

    def _give_up_damage(self, scanner: CommitLogScanner, end_offset: int) -> None:
        """Report the damage before ``end_offset``, where the log ends, and put fillers where entries point to it."""
        report = self._report
        for offset in scanner.torn:
            report.say(
                f"commit log: the message at {offset} counts as torn: when the machine crashed, it was not known to be "
                "on the disk, and its properties have zeros where a sector ends"
            )
            if offset < end_offset:
                self._parts.commit_log.disown(offset)
        for start, end in scanner.damaged_ranges:
            if start >= end_offset:
                break
            report.damaged_ranges.append((start, end))
            report.say(
                f"commit log: bytes {start} to {end} hold no whole message and are left out; "
                "the messages after them are kept"
            )
            self._leave_out(start, end)

    def _torn_from(self, point: RecoveryPoint | None) -> int | None:
        """Return the position after which a crash of the machine may have torn messages; None: nowhere, as far as is
        known.

        A killed process tears nothing, and what a group has committed was on disk.
        """
        if self._report.was_clean or self._known.end_offset is not None:
            return None
        flushed_offset = self._abort_file.flushed_before_machine_crash()
        if flushed_offset is None or point is None:
            return flushed_offset
        return max(flushed_offset, point.flushed_offset)

    def _say_what_was_dispatched_again(self, indexed_before: int, end_offset: int) -> None:
        """Report what was dispatched again after a crash because it had not been recorded as durable. This is not
        damage.
        """
        report = self._report
        if report.messages_dispatched and not report.rebuilt_queues:
            report.say(
                f"{counted(report.messages_dispatched, 'entry', 'entries')} of consume queues, after the last "
                "recovery point, were written again from the commit log"
            )
        if self._parts.index is not None and indexed_before < end_offset:
            report.say(
                f"index: the keys of the messages after position {indexed_before} of the commit log were added again"
            )

    def _first_file(self, point: RecoveryPoint | None) -> int:
        """Return the number of the file to start with. Files begin with a message, so this is the best starting
        point.
        """
        log = self._parts.commit_log
        files = log.files.files
        if point is None or self._report.rebuilt_queues:
            return 0
        first_needed = min(point.dispatched_offset, point.flushed_offset)
        if self._known.in_doubt_offset is not None:
            first_needed = min(first_needed, self._known.in_doubt_offset)
        if self._parts.index is not None:
            first_needed = min(first_needed, self._parts.index.indexed_offset)
        number = max(0, len(files) - self._parts.config.files_checked_after_normal_exit)
        while number > 0 and files[number].start_offset > first_needed:
            number -= 1
        return number

    def _lacks_entry(self, request: DispatchRequest) -> bool:
        """Return whether the entry of ``request`` is not known to be durable.

        Messages of deleted topics must not reappear: those from before the deletion, and dispatched ones whose queue is
        unknown.
        """
        if request.commit_log_offset < self._parts.deleted_topics.end_of(request.topic):
            return False
        key = (request.topic, request.queue_id)
        return request.commit_log_offset >= self._dispatched_before or key in self._damaged_queues

    def _is_begun_at_zero(self, key: _QueueKey) -> bool:
        """Return whether the log has the first message that the queue ever had, if none of its entries is known."""
        begins_at = 0 if key in self._damaged_queues else self._dispatched_before
        return self._parts.commit_log.min_offset <= begins_at

    def _leave_out(self, start: int, end: int) -> None:
        """Put fillers where entries point into a damaged range of the log."""
        for queue in self._parts.consume_queues:
            for queue_offset, (commit_log_offset, size, _) in queue.entries_backward():
                if size == FILLER_SIZE or commit_log_offset >= end:
                    continue
                if commit_log_offset < start:
                    break
                queue.put_entries(queue_offset, FILLER_ENTRY)
                queue.flushed_offset = min(queue.flushed_offset, queue_offset)

    # --- step 4 ------------------------------------------------------------------------------------------------------

    def _cut_log(self, end_offset: int, point: RecoveryPoint | None) -> None:
        log, report = self._parts.commit_log, self._report
        report.bytes_cut = log.clear_from(end_offset, was_clean=report.was_clean)
        # Data that a killed process wrote is readable, but perhaps not on disk yet.
        flushed = end_offset if report.was_clean else (point.flushed_offset if point is not None else log.min_offset)
        changed = self._places.first_change
        log.continue_at(end_offset, min(flushed, end_offset, flushed if changed is None else changed))
        if report.bytes_cut and self._places.stale_from is None:
            report.say(
                f"commit log: {counted(report.bytes_cut, 'byte', 'bytes')} behind its last whole message made up no "
                f"whole message and were removed; the log ends at {end_offset}"
            )
        if point is not None and point.flushed_offset > end_offset and self._known.end_offset is None:
            report.log_bytes_lost = point.flushed_offset - end_offset
            report.say(
                f"commit log: it was on disk up to {point.flushed_offset} but has whole messages up to {end_offset} "
                f"only: {report.log_bytes_lost} bytes were damaged or taken away from outside"
            )

    def _settle_queues(self, point: RecoveryPoint | None) -> None:
        """Let every queue end where the log ends, and count the losses."""
        end_offset = self._parts.commit_log.max_offset
        is_log_whole = point is not None and point.dispatched_offset <= end_offset
        for queue in self._parts.consume_queues:
            key = (queue.topic, queue.queue_id)
            if not is_log_whole:
                self._cut_behind(queue, end_offset)
            is_made_again = key in self._places.made_again
            before = 0 if is_made_again else self._lengths_before.get(key, 0)
            if key in self._rebuilt and not is_made_again:
                extent = self._extents.get(key) if is_log_whole else None
                queue.skip_to(max(self._rebuilt[key], extent.max_offset if extent is not None else 0))
            lost = before - queue.max_offset
            if lost > 0:
                self._report.entries_beyond_log += lost
                self._report.shortened_queues[key] = queue.max_offset
            queue.next_offset = queue.max_offset
            if is_made_again or key not in self._begun or not is_log_whole or self._report.damaged_ranges:
                queue.correct_min_offset(self._parts.commit_log.min_offset)
        self._parts.dispatcher.dispatched_offset = end_offset
        self._parts.deleted_topics.limit(self._parts.commit_log.min_offset, end_offset)
        if self._parts.index is not None:
            self._parts.index.indexed_offset = min(self._parts.index.indexed_offset, end_offset)
        self._report.explain_losses(self._lengths_before)

    def _cut_behind(self, queue: ConsumeQueue, end_offset: int) -> None:
        """Remove entries of ``queue`` that point past ``end_offset``, and fillers that only lead up to them."""
        keep = queue.max_offset
        cuts = False
        for queue_offset, (commit_log_offset, size, _) in queue.entries_backward():
            if size != FILLER_SIZE and commit_log_offset < end_offset:
                break
            cuts = cuts or size != FILLER_SIZE
            keep = queue_offset
        if cuts:
            queue.clear_from(keep)

    def _check_times(self) -> None:
        if self._checkpoint.was_missing and self._parts.commit_log.files.files:
            self._report.say("file checkpoint was missing; it is written again. Recovery does not need it")
        newest = max(self._checkpoint.commit_log_timestamp, self._checkpoint.consume_queue_timestamp)
        if newest > self._parts.clock.now_ms():
            self._report.say(
                "the times in file checkpoint are in the future: the clock was set back. They are not used"
            )
        self._checkpoint.commit_log_timestamp = self._parts.commit_log.last_store_timestamp
        self._checkpoint.consume_queue_timestamp = self._parts.commit_log.last_store_timestamp
        if self._parts.index is not None:
            self._checkpoint.index_timestamp = self._parts.index.last_store_timestamp


def _name(key: _QueueKey) -> str:
    return f"{key[0]}/{key[1]}"
