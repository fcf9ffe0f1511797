"""The service that flushes the commit log (RocketMQ: ``GroupCommitService``, ``FlushRealTimeService``).

Only one task flushes. With SYNC_FLUSH it runs as soon as a producer waits; all that arrive while it runs are served
together by the next run (group commit), so a hundred producers cost one flush, not a hundred. With ASYNC_FLUSH it runs
every 500 ms if enough pages are dirty, and every 10 s in any case.

A flush that fails is final. The operating system may drop the pages that it could not write and report success the next
time; RocketMQ logs the error and counts the bytes as flushed. Here nothing more counts as durable, and the store
refuses messages until it is started again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Clock, DiskFault, DiskFull
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig
from engine.store.log.commit_log import CommitLog

_log = logging.getLogger("glassmq.store")

PAGE_SIZE_BYTES = 4096


class _Group:
    """The waiters for the same flush."""

    __slots__ = ("timer", "waiters")

    def __init__(self) -> None:
        self.waiters: list[asyncio.Future[bool]] = []
        self.timer: asyncio.TimerHandle | None = None

    def resolve(self, is_durable: bool) -> None:
        if self.timer is not None:
            self.timer.cancel()
        for waiter in self.waiters:
            if not waiter.done():  # one that timed out, or whose owner is gone
                waiter.set_result(is_durable)
        self.waiters.clear()


class CommitLogFlushService:
    """A service that flushes the commit log in groups.

    :param on_fault: called when a flush failed.
    :ivar flush_count: flushes so far, for observers of group commit.
    :ivar flushed_store_timestamp: store time (ms) of the newest message known to be durable.
    """

    def __init__(
        self, commit_log: CommitLog, config: MessageStoreConfig, clock: Clock, on_fault: Callable[[DiskFault], None]
    ) -> None:
        self._commit_log = commit_log
        self._config = config
        self._clock = clock
        self._on_fault = on_fault
        self._wake = asyncio.Event()
        self._gathering: _Group | None = None
        self._fault: DiskFault | None = None
        self._last_flush_ms = 0
        self.flush_count = 0
        self.flushed_store_timestamp = 0

    def start(self, tasks: BackgroundTasks) -> None:
        """Begin flushing."""
        self._last_flush_ms = self._clock.now_ms()
        tasks.spawn(self._run(), "flush-commit-log")
        config = self._config
        interval_ms = (
            config.sync_flush_idle_interval_ms
            if config.flush_disk_type is FlushDiskType.SYNC_FLUSH
            else config.flush_interval_commit_log_ms
        )
        tasks.every(interval_ms, self._wake_if_due, "flush-commit-log-timer")

    def flushed(self, end_offset: int) -> asyncio.Future[bool]:
        """Return a future that becomes True when the log is durable up to ``end_offset``.

        It becomes False if that fails or takes longer than ``sync_flush_timeout_ms`` (the message may then be durable
        or not).
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        if end_offset <= self._commit_log.flushed_offset:
            waiter.set_result(True)
        elif self._fault is not None:
            waiter.set_result(False)
        else:
            group = self._gathering
            if group is None:
                group = self._gathering = _Group()
                # One timer per group is enough: its first member has waited longest.
                group.timer = loop.call_later(self._config.sync_flush_timeout_ms / 1000, group.resolve, False)
                self._wake.set()
            group.waiters.append(waiter)
        return waiter

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            group, self._gathering = self._gathering, None
            is_durable = await self._flush()
            if group is not None:
                group.resolve(is_durable)

    async def _flush(self) -> bool:
        if self._fault is not None:
            return False
        store_timestamp = self._commit_log.last_store_timestamp
        self._last_flush_ms = self._clock.now_ms()
        try:
            await self._commit_log.flush()
        except DiskFull as fault:
            # The log is on disk, but that could not be recorded: it is tried again, and no waiter is notified until
            # then.
            _log.error("what was flushed cannot be called durable: %s", fault)
            return False
        except DiskFault as fault:
            self._fault = fault
            self._on_fault(fault)
            return False
        self.flush_count += 1
        self.flushed_store_timestamp = store_timestamp
        return True

    def _wake_if_due(self) -> None:
        log, config = self._commit_log, self._config
        if log.flushed_offset >= log.max_offset or self._fault is not None:
            return
        if config.flush_disk_type is FlushDiskType.SYNC_FLUSH:
            self._wake.set()
            return
        dirty_pages = log.max_offset // PAGE_SIZE_BYTES - log.flushed_offset // PAGE_SIZE_BYTES
        waited_ms = self._clock.now_ms() - self._last_flush_ms
        # A clock that was set back must not stop the flushing.
        is_overdue = not 0 <= waited_ms < config.flush_commit_log_thorough_interval_ms
        if dirty_pages >= config.flush_commit_log_least_pages or is_overdue:
            self._wake.set()

    def stop(self) -> None:
        """Release all waiters; the caller flushes the rest."""
        if self._gathering is not None:
            self._gathering.resolve(False)
            self._gathering = None
