"""The service that flushes consume queues and index and records the progress (RocketMQ: ``FlushConsumeQueueService``).

Nothing is lost if it runs late: after a crash, entries that are not durable are written again from the commit log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.future_waits import all_ended
from engine.runtime.port import DiskFault, DiskFull
from engine.store.files.recovery_point import QueueExtent, RecoveryPoint, save_recovery_point
from engine.store.files.store_checkpoint import StoreCheckpoint
from engine.store.services.commit_log_flush_service import PAGE_SIZE_BYTES, CommitLogFlushService
from engine.store.services.store_parts import StoreParts

_log = logging.getLogger("glassmq.store")

#: The maximum number of queues that are flushed one after the other, recorded immediately, and made durable by the
#: start itself. RocketMQ does so with any number of them.
_FEW_QUEUES = 100
#: The number of parallel flushes: the disk has as many threads for flushes.
_FLUSHED_TOGETHER = 4
#: Under load everything is flushed again after this multiple of the duration of the last flush, at the earliest: with
#: many queues a flush takes seconds, and the commit log needs the disk, too.
_REST_FACTOR = 4


class FlushConsumeQueueService:
    """A service that flushes queues with many dirty pages each second, and everything every 10 s or sooner
    under load.
    """

    def __init__(
        self,
        parts: StoreParts,
        flush_service: CommitLogFlushService,
        checkpoint: StoreCheckpoint,
        on_fault: Callable[[DiskFault], None],
        before_recording: Callable[[], Awaitable[None]],
    ) -> None:
        self._parts = parts
        self._flush_service = flush_service
        self._checkpoint = checkpoint
        self._on_fault = on_fault
        self._before_recording = before_recording
        self._last_thorough_ms = 0
        self._last_thorough_took_ms = 0
        self._last_thorough_offset = 0
        self._has_failed = False
        #: The later one of two flushes of everything must write its recovery point later.
        self._flushing_everything = asyncio.Lock()

    def start(self, tasks: BackgroundTasks) -> None:
        """Begin flushing."""
        self._last_thorough_ms = self._parts.clock.now_ms()
        self._last_thorough_offset = self._parts.dispatcher.dispatched_offset
        tasks.every(self._parts.config.flush_interval_consume_queue_ms, self._flush, "flush-consume-queues")

    async def _flush(self) -> None:
        if self._has_failed:
            return
        try:
            if self._must_flush_everything():
                self._last_thorough_ms = self._parts.clock.now_ms()
                self._last_thorough_offset = self._parts.dispatcher.dispatched_offset
                full = await self._flush_everything()
                self._last_thorough_took_ms = self._parts.clock.now_ms() - self._last_thorough_ms
                if full is not None:
                    # Nothing was lost: an older point only means more work for a start. There may be room the next
                    # time.
                    _log.warning("the recovery point stays where it was: %s", full)
            else:
                await self._flush_queues(self._parts.config.flush_consume_queue_least_pages * PAGE_SIZE_BYTES)
        except DiskFault as fault:
            # As with the commit log, pages that could not be written may be gone, so nothing more counts as durable.
            # The recovery point stays as it was.
            self._has_failed = True
            self._on_fault(fault)

    def _must_flush_everything(self) -> bool:
        config, waited_ms = self._parts.config, self._parts.clock.now_ms() - self._last_thorough_ms
        if not 0 <= waited_ms < config.flush_consume_queue_thorough_interval_ms:
            return True
        uncovered_bytes = self._parts.dispatcher.dispatched_offset - self._last_thorough_offset
        has_rested = waited_ms >= _REST_FACTOR * self._last_thorough_took_ms
        return has_rested and uncovered_bytes >= config.flush_consume_queue_thorough_bytes

    async def _flush_queues(self, least_bytes: int) -> None:
        """Flush queues one after the other, or many in parallel, which takes the disk fewer operations."""
        dirty = [queue for queue in self._parts.consume_queues if queue.unflushed_bytes >= least_bytes]
        if len(dirty) <= _FEW_QUEUES:
            for queue in dirty:
                await queue.flush()
            return
        waiting = iter(dirty)

        async def flush_next() -> None:
            for queue in waiting:
                await queue.flush()

        # Wait for all of them, even after a fault: none may flush a file that was closed meanwhile.
        flushing = [asyncio.ensure_future(flush_next()) for _ in range(_FLUSHED_TOGETHER)]
        await all_ended(flushing)
        for task in flushing:
            task.result()

    async def flush_everything(self) -> None:
        """Make everything visible durable and record it, as happens every 10 s.

        Raises ``DiskFault``, and ``DiskFull`` if only the record could not be written: then the broker continues.
        """
        if self._has_failed:
            raise DiskFault("an earlier flush failed")
        try:
            full = await self._flush_everything()
        except DiskFault as fault:
            self._has_failed = True
            self._on_fault(fault)
            raise
        if full is not None:
            raise full

    async def _flush_everything(self) -> DiskFull | None:
        async with self._flushing_everything:
            return await self._flush_and_record()

    async def _flush_and_record(self) -> DiskFull | None:
        """Return why the recovery point was not written; None if it was."""
        point = self._point_now(is_clean=False)
        log_timestamp = self._flush_service.flushed_store_timestamp
        queue_timestamp = self._parts.commit_log.last_store_timestamp
        await self._flush_queues(1)
        if self._parts.index is not None:
            # Keys added from now on would make a file differ from its count in the recovery point. Only full files
            # never change again; the newest one is rebuilt after a crash.
            point.index_files = {file.name: file.index_count for file in self._parts.index.files if file.is_full}
            self._checkpoint.index_timestamp = self._parts.index.last_store_timestamp
            await self._parts.index.flush()
        self._checkpoint.commit_log_timestamp = max(log_timestamp, self._checkpoint.commit_log_timestamp)
        self._checkpoint.consume_queue_timestamp = queue_timestamp
        await self._checkpoint.flush()
        # A topic deleted meanwhile must not be "missing" at the next start.
        known = self._parts.consume_queues
        point.queues = {key: end for key, end in point.queues.items() if known.get(*key) is not None}
        try:
            await self._before_recording()
            if len(point.queues) <= _FEW_QUEUES:
                save_recovery_point(self._parts.recovery_point_file, point)
            else:
                await self._parts.disk.off_loop(lambda: save_recovery_point(self._parts.recovery_point_file, point))
        except DiskFull as fault:
            return fault  # the file is replaced as a whole or not at all
        return None

    def _point_now(self, *, is_clean: bool) -> RecoveryPoint:
        index_files = self._parts.index.files if self._parts.index is not None else []
        return RecoveryPoint(
            self._parts.dispatcher.dispatched_offset,
            self._parts.commit_log.flushed_offset,
            is_clean,
            {
                (queue.topic, queue.queue_id): QueueExtent(queue.first_entry_offset, queue.max_offset)
                for queue in self._parts.consume_queues
                if queue.max_offset
            },
            {file.name: file.index_count for file in index_files if is_clean or file.is_full},
            self._parts.commit_log.min_offset,
        )

    def flush_after_dispatch(self) -> None:
        """Make the entries that recovery dispatched durable, unless that takes long.

        In that case the known durable state stays as it was, and the service flushes the rest. Raises ``DiskFault``.
        """
        dirty = sum(queue.unflushed_bytes > 0 for queue in self._parts.consume_queues)
        if dirty <= _FEW_QUEUES:
            self.flush_now(is_clean=False)

    def flush_now(self, *, is_clean: bool) -> None:
        """Make everything durable and record it, blocking: for a start (``is_clean`` False) and for a shutdown.

        Raises ``DiskFault``.
        """
        self._parts.commit_log.flush_now()
        for queue in self._parts.consume_queues:
            if queue.unflushed_bytes:
                queue.flush_now()
        if self._parts.index is not None:
            self._parts.index.flush_now()
            self._checkpoint.index_timestamp = self._parts.index.last_store_timestamp
        self._checkpoint.commit_log_timestamp = self._parts.commit_log.last_store_timestamp
        self._checkpoint.consume_queue_timestamp = self._parts.commit_log.last_store_timestamp
        self._checkpoint.flush_now()
        save_recovery_point(self._parts.recovery_point_file, self._point_now(is_clean=is_clean))
