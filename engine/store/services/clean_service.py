"""Retention: the service that deletes old files and watches the free space on the disk (RocketMQ:
``CleanCommitLogService``, ``CleanConsumeQueueService``).

It runs every 10 s. Commit-log files are deleted whole, oldest first, never the one being written and never one that is
not yet on disk and dispatched:

* at hour ``delete_when``, or when the disk is fuller than 75 %: those last written more than 72 h ago;
* when it is fuller than 85 %: those last written more than 24 h ago. Here RocketMQ deletes the oldest files, even
  messages of the last minute, whatever has filled the disk.

Above 90 % messages are refused: a refused sender is informed, but a reader whose messages are gone is not. Deletions
are logged, as files and ages here, as messages by the listener (``on_deleted``). Consume-queue and index files are
deleted when all their messages are gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import DiskFault
from engine.store.files.running_flags import WriteRefusal
from engine.store.services.store_parts import StoreParts

_log = logging.getLogger("glassmq.store")

_MS_PER_HOUR = 3_600_000


class DeletedMessages(NamedTuple):
    """The messages that a queue lost in one round: those from offset ``start`` to before ``end``."""

    topic: str
    queue_id: int
    start: int
    end: int


class CleanService:
    """A service that deletes expired files. ``clean`` is one round.

    :ivar on_deleted: called with the losses of all queues after each round that deleted anything.
    """

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts
        #: Set by an administrator: delete what has expired in the next round, whatever the hour.
        self.is_delete_demanded = False
        #: Called every round, for other work that is due at the hour of deletion.
        self.after_round: Callable[[], None] | None = None
        self.on_deleted: Callable[[Sequence[DeletedMessages]], None] | None = None
        self._is_out_of_old_files = False

    def start(self, tasks: BackgroundTasks) -> None:
        """Start the service. It checks the disk immediately: a full one must not take messages for 10 s."""
        self.check_disk_space()
        tasks.every(self._parts.config.clean_resource_interval_ms, self.clean, "clean-files")

    def check_disk_space(self) -> float:
        """Refuse or accept messages, depending on the free space, and return the used share of the disk."""
        flags = self._parts.flags
        try:
            used = self._parts.disk.used_ratio()
        except DiskFault as fault:  # the folder was taken away: nothing may be accepted, and nothing need be deleted
            if flags.refuse(WriteRefusal.DISK_SPACE, str(fault)):
                _log.error("messages are refused: %s", fault)
            return 0.0
        limit = self._parts.config.disk_space_warning_level_ratio
        if used > limit:
            if flags.refuse(WriteRefusal.DISK_SPACE, f"{used:.1%} are used, {limit:.0%} are allowed"):
                _log.error(
                    "the disk is %.1f %% full: messages are refused until it is below %.0f %%", used * 100, limit * 100
                )
        elif flags.clear(WriteRefusal.DISK_SPACE):
            _log.warning("the disk has room again (%.1f %% used): messages are accepted", used * 100)
        if self._parts.dispatcher.pending_count == 0 and flags.clear(WriteRefusal.DISK_FULL) and not flags.refusal:
            # Only the next message can show whether there is room now.
            _log.warning("the disk was full and is %.1f %% used now: messages are accepted", used * 100)
        return used

    def clean(self) -> int:
        """Run one round and return how many commit-log files were deleted."""
        used = self.check_disk_space()
        config = self._parts.config
        is_time = self._is_hour_to_delete() or used > config.disk_max_used_space_ratio or self.is_delete_demanded
        self.is_delete_demanded = False
        is_forced = used > config.disk_space_clean_forcibly_ratio
        count = self._count_older_than(config.file_reserved_time_hours) if is_time else 0
        if is_forced and count < config.delete_files_batch_max:
            count = max(count, self._count_older_than(config.clean_file_forcibly_min_age_hours))
        if count:
            self._delete(count, used)
        self._note_out_of_old_files(used, is_out=is_forced and not count)
        if self.after_round is not None:
            self.after_round()
        return count

    def _delete(self, count: int, used: float) -> None:
        files = self._parts.commit_log.files
        going, now_ms = files.files[:count], self._parts.clock.now_ms()
        ages_h = [(now_ms - self._parts.disk.modified_ms(file.path)) / _MS_PER_HOUR for file in going]
        is_early = min(ages_h) < self._parts.config.file_reserved_time_hours
        _log.log(
            logging.WARNING if is_early else logging.INFO,
            "%d commit-log files (%s to %s, %d bytes, last written %.1f to %.1f h ago) are deleted: %s; the disk is "
            "%.1f %% full",
            count,
            going[0].path,
            going[-1].path,
            going[-1].end_offset - going[0].start_offset,
            max(ages_h),
            min(ages_h),
            "before their time, to make room" if is_early else "expired",
            used * 100,
        )
        starts = [(queue, queue.min_offset) for queue in self._parts.consume_queues]
        files.remove_first(count)
        self.follow_commit_log()
        deleted = [
            DeletedMessages(queue.topic, queue.queue_id, start, queue.min_offset)
            for queue, start in starts
            if queue.min_offset > start
        ]
        if self.on_deleted is not None:
            self.on_deleted(deleted)

    def _note_out_of_old_files(self, used: float, *, is_out: bool) -> None:
        """Log once each time that a full disk leaves nothing to delete."""
        if is_out and not self._is_out_of_old_files:
            _log.warning(
                "the disk is %.1f %% full, and no commit-log file is older than %d h (cleanFileForciblyMinAge): "
                "none is deleted; above %.0f %% messages are refused",
                used * 100,
                self._parts.config.clean_file_forcibly_min_age_hours,
                self._parts.config.disk_space_warning_level_ratio * 100,
            )
        self._is_out_of_old_files = is_out

    def _is_hour_to_delete(self) -> bool:
        local_ms = self._parts.clock.now_ms() + self._parts.config.time_zone_offset_minutes * 60_000
        return local_ms // _MS_PER_HOUR % 24 in self._parts.config.delete_hours

    def _count_older_than(self, age_hours: int) -> int:
        """Return how many of the oldest files may be deleted in this round because of their last write."""
        oldest_kept_ms = self._parts.clock.now_ms() - age_hours * _MS_PER_HOUR
        safe_end = min(self._parts.commit_log.flushed_offset, self._parts.dispatcher.dispatched_offset)
        count = 0
        for file in self._parts.commit_log.files.files[:-1]:
            if count >= self._parts.config.delete_files_batch_max or file.end_offset > safe_end:
                break
            if self._parts.disk.modified_ms(file.path) > oldest_kept_ms:
                break
            count += 1
        return count

    def follow_commit_log(self) -> None:
        """Delete the entries of consume queues and index for messages that are no longer in the log."""
        min_offset = self._parts.commit_log.min_offset
        self._parts.commit_log.damaged_records.forget_before(min_offset)
        for queue in tuple(self._parts.consume_queues):
            queue.remove_expired_files(min_offset)
        if self._parts.index is not None:
            self._parts.index.remove_expired_files(min_offset)
