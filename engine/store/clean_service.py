"""Retention: deletes what is old, and watches the room on the disk (RocketMQ: ``CleanCommitLogService``,
``CleanConsumeQueueService``).

Every 10 s. Commit-log files are deleted whole, oldest first, never the one being written and never one that is not yet
on disk and dispatched:

* at hour ``delete_when``, or when the disk is fuller than 75 %: those last written more than 72 h ago;
* when it is fuller than 85 %: the oldest ones, expired or not.

Above 90 % messages are refused. Consume-queue and index files go when all their messages have gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Clock, Disk
from engine.store.commit_log import CommitLog
from engine.store.consume_queue_table import ConsumeQueueTable
from engine.store.index_service import IndexService
from engine.store.message_dispatcher import MessageDispatcher
from engine.store.running_flags import Refusal, RunningFlags
from engine.store.store_config import MessageStoreConfig

_log = logging.getLogger("glassmq.store")

_MS_PER_HOUR = 3_600_000


class CleanService:
    """See the module. ``clean`` is one round."""

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        config: MessageStoreConfig,
        commit_log: CommitLog,
        consume_queues: ConsumeQueueTable,
        index: IndexService | None,
        dispatcher: MessageDispatcher,
        flags: RunningFlags,
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._config = config
        self._commit_log = commit_log
        self._consume_queues = consume_queues
        self._index = index
        self._dispatcher = dispatcher
        self._flags = flags
        #: Set by an administrator: delete what has expired in the next round, whatever the hour.
        self.is_delete_demanded = False
        #: Called every round, for what else is due by the hour.
        self.after_round: Callable[[], None] | None = None

    def start(self, tasks: BackgroundTasks) -> None:
        """Begin. The first look at the disk is at once: a full one must not take messages for 10 s."""
        self.check_disk_space()
        tasks.every(self._config.clean_resource_interval_ms, self.clean, "clean-files")

    def check_disk_space(self) -> float:
        """Refuse messages or take them again, by the room on the disk. Returns its used share."""
        used = self._disk.used_ratio()
        limit = self._config.disk_space_warning_level_ratio
        if used > limit:
            if self._flags.refuse(Refusal.DISK_SPACE, f"{used:.1%} are used, {limit:.0%} are allowed"):
                _log.error(
                    "the disk is %.1f %% full: messages are refused until it is below %.0f %%", used * 100, limit * 100
                )
        elif self._flags.clear(Refusal.DISK_SPACE):
            _log.warning("the disk has room again (%.1f %% used): messages are accepted", used * 100)
        if self._flags.applies(Refusal.DISK_FULL) and self._dispatcher.pending_count == 0:
            # Whether there is room now only the next message can tell.
            self._flags.clear(Refusal.DISK_FULL)
        return used

    def clean(self) -> int:
        """One round. Returns how many commit-log files were deleted."""
        used = self.check_disk_space()
        config = self._config
        is_forced = used > config.disk_space_clean_forcibly_ratio
        is_time = self._is_hour_to_delete() or used > config.disk_max_used_space_ratio or self.is_delete_demanded
        self.is_delete_demanded = False
        count = self._count_deletable(is_forced) if is_time or is_forced else 0
        if count:
            files = self._commit_log.files
            _log.info(
                "%d commit-log files up to %s are deleted (%s; the disk is %.1f %% full)",
                count,
                files.files[count - 1].path,
                "to make room" if is_forced else "expired",
                used * 100,
            )
            files.remove_first(count)
            self.follow_commit_log()
        if self.after_round is not None:
            self.after_round()
        return count

    def _is_hour_to_delete(self) -> bool:
        local_ms = self._clock.now_ms() + self._config.time_zone_offset_minutes * 60_000
        return local_ms // _MS_PER_HOUR % 24 in self._config.delete_hours

    def _count_deletable(self, is_forced: bool) -> int:
        """How many of the oldest files may go in this round."""
        oldest_kept_ms = self._clock.now_ms() - self._config.file_reserved_time_hours * _MS_PER_HOUR
        safe_end = min(self._commit_log.flushed_offset, self._dispatcher.dispatched_offset)
        count = 0
        for file in self._commit_log.files.files[:-1]:
            if count >= self._config.delete_files_batch_max or file.end_offset > safe_end:
                break
            if not is_forced and self._disk.modified_ms(file.path) > oldest_kept_ms:
                break
            count += 1
        return count

    def follow_commit_log(self) -> None:
        """Let consume queues and index forget the messages that the log has no more."""
        min_offset = self._commit_log.min_offset
        self._commit_log.damaged_records.forget_before(min_offset)
        for queue in tuple(self._consume_queues):
            queue.remove_expired_files(min_offset)
        if self._index is not None:
            self._index.remove_expired_files(min_offset)
