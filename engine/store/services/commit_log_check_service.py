"""A background check of the old commit-log files that finds damage before a reader does. RocketMQ has no such service;
file systems and databases call it scrubbing.

A start checks the last file, and appended data gets sums (:mod:`engine.store.log.block_sums`); older files are checked
after a start, and then every ``check_commit_log_interval_hours``. Each message that is found good is added to the sums,
so that reading it becomes cheap.
"""

from __future__ import annotations

import asyncio
import logging

from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import DiskFault
from engine.store.files.mapped_file import MappedFile
from engine.store.log.commit_log_walk import CommitLogWalk
from engine.store.log.stored_record import queue_place_of
from engine.store.services.store_parts import StoreParts

_log = logging.getLogger("glassmq.store")

#: The amount that is checked without a break; then there is a pause of a millisecond for other work.
_SLICE_BYTES = 128 * 1024
_SLICE_STEPS = 400
_MS_PER_HOUR = 3_600_000


class CommitLogCheckService:
    """A service that checks the commit log at a bounded rate.

    :ivar checked_bytes: progress of the check; of the last one, if none is running.
    :ivar total_bytes: how much there is to check.
    :ivar damaged_ranges: positions that it found damaged; one may contain several messages.
    :ivar is_walking: a check is running.
    :ivar walked_ms: when the last check ended, by the broker's clock; 0: never.
    """

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts
        self._tasks: BackgroundTasks | None = None
        self._due_ms = 0
        self.checked_bytes = 0
        self.total_bytes = 0
        self.damaged_ranges = 0
        self.is_walking = False
        self.walked_ms = 0

    def start(self, tasks: BackgroundTasks) -> None:
        """Start with the files that exist."""
        self._tasks = tasks
        self.walk_if_due()

    def walk_if_due(self) -> None:
        """Start a check if it is due and there are old files."""
        now_ms = self._parts.clock.now_ms()
        is_wanted = self._parts.config.check_commit_log_bytes_per_second > 0 and now_ms >= self._due_ms
        if self._tasks is None or self.is_walking or not is_wanted:
            return
        self._due_ms = now_ms + self._parts.config.check_commit_log_interval_hours * _MS_PER_HOUR
        if len(self._parts.commit_log.files.files) > 1:
            self.is_walking = True
            self._tasks.spawn(self._walk(), "check-commit-log")

    async def _walk(self) -> None:
        files = tuple(self._parts.commit_log.files.files[:-1])
        self.checked_bytes = self.damaged_ranges = 0
        self.total_bytes = sum(file.size_bytes for file in files)
        try:
            for file in files:
                before = self.checked_bytes
                await self._walk_file(file)
                self.checked_bytes = before + file.size_bytes
            self.walked_ms = self._parts.clock.now_ms()
        except DiskFault as fault:
            _log.error("the check of the commit log stops: %s", fault)
        finally:
            self.is_walking = False
        _log.log(
            logging.ERROR if self.damaged_ranges else logging.INFO,
            "checked %d bytes of old commit-log files: %d damaged places",
            self.checked_bytes,
            self.damaged_ranges,
        )

    async def _walk_file(self, file: MappedFile) -> None:
        log = self._parts.commit_log
        step = slice_bytes = 0
        for offset, size, data, damage in CommitLogWalk(file, log.max_offset, is_newest=False).stretches():
            if damage is not None:
                self.damaged_ranges += 1
                log.note_damaged(offset, damage, log.read_bytes(offset, size))
            elif self._is_in_its_queue(offset, data):
                log.sums.add(file, offset, data)
            self.checked_bytes += size
            slice_bytes += size
            step += 1
            if slice_bytes >= _SLICE_BYTES or step >= _SLICE_STEPS:
                await self._rest(slice_bytes)
                step = slice_bytes = 0
        await self._rest(slice_bytes)

    def _is_in_its_queue(self, offset: int, data: bytes) -> bool:
        """Return whether the message's queue leads to it; otherwise a field such as its topic may have changed.

        A read by sums would not detect that.
        """
        topic, queue_id, queue_offset = queue_place_of(data)
        queue = self._parts.consume_queues.get(topic, queue_id)
        entry = queue.entry(queue_offset) if queue is not None else None
        return entry is not None and entry[0] == offset

    async def _rest(self, checked_bytes: int) -> None:
        rate = self._parts.config.check_commit_log_bytes_per_second
        await asyncio.sleep(checked_bytes / rate if rate > 0 else 0)  # the rate may have been set to 0 meanwhile
