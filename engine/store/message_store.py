"""The message store, which combines its parts for the broker (RocketMQ: ``DefaultMessageStore``):

    put_message -> commit log -> dispatcher -> consume queues, index -> get_message, query_message
                       |                             |
                  flush service              flush service, recovery point, checkpoint

A slave's store accepts no messages; its log grows by :meth:`MessageStore.follow`.

Simplified: no write buffers outside the page cache.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from engine.protocol.errors import ProtocolError
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import DiskFault, DiskFull, FolderLock, Runtime
from engine.store.files.abort_file import AbortFile
from engine.store.files.running_flags import WriteRefusal
from engine.store.files.store_checkpoint import StoreCheckpoint
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.commit_log import MessageRefused
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus
from engine.store.log.store_batch import StoreBatch
from engine.store.log.store_message import StoreMessage
from engine.store.reading.message_reader import MessageReader
from engine.store.recovery.recovery_report import RecoveryReport
from engine.store.recovery.store_recovery import KnownBounds, StoreRecovery
from engine.store.services.clean_service import CleanService
from engine.store.services.commit_log_check_service import CommitLogCheckService
from engine.store.services.commit_log_flush_service import CommitLogFlushService
from engine.store.services.flush_consume_queue_service import FlushConsumeQueueService
from engine.store.services.replica_log import ReplicaLog
from engine.store.services.store_parts import StoreParts

_log = logging.getLogger("glassmq.store")

#: A round deletes at most 10 files (``MAX_MANUAL_DELETE_FILE_TIMES`` of ``CleanCommitLogService``).
_DELETION_ROUNDS = 20


class MessageStore(MessageReader):
    """A message store. Use: ``load()``, ``start()``, put and get, ``await shutdown()``. It cannot be used after that.

    :ivar dispatcher: makes messages visible and notifies listeners.
    :ivar flush_service, clean_service, check_service: the background services, for observers and tools.
    """

    def __init__(self, runtime: Runtime, config: MessageStoreConfig | None = None) -> None:
        parts = StoreParts.make(runtime.disk, runtime.clock, config or MessageStoreConfig(), self._dispatch_failed)
        super().__init__(parts)
        self._disk = runtime.disk
        self._abort_file = AbortFile(runtime.disk)
        self._tasks = BackgroundTasks(f"{runtime.node_name}/store")
        self._flags = parts.flags
        self._flags.refuse(WriteRefusal.NOT_RUNNING)
        self._lock: FolderLock | None = None
        self._is_loaded = False
        self.dispatcher = parts.dispatcher
        self.flush_service = CommitLogFlushService(parts.commit_log, parts.config, runtime.clock, self._flush_failed)
        self.clean_service = CleanService(parts)
        self.check_service = CommitLogCheckService(parts)
        self.clean_service.after_round = self.check_service.walk_if_due
        self._checkpoint: StoreCheckpoint | None = None
        self._queue_flush_service: FlushConsumeQueueService | None = None
        #: Awaited before a recovery point is written, while the broker runs.
        self.before_recovery_point: Callable[[], Awaitable[None]] | None = None

    # --- life cycle --------------------------------------------------------------------------------------------------

    def load(self, known: KnownBounds | None = None) -> RecoveryReport:
        """Lock the folder, read its content and repair it. Blocks: for start-up only.

        Raises ``FolderLocked`` if another broker uses the folder, ``DiskFull``, ``DiskFault``.
        """
        self._lock = self._disk.lock_folder()
        try:
            return self._load(known or KnownBounds())
        except BaseException:
            self._close()
            raise

    def _load(self, known: KnownBounds) -> RecoveryReport:
        self._checkpoint = StoreCheckpoint(self._disk)
        self._queue_flush_service = FlushConsumeQueueService(
            self.parts, self.flush_service, self._checkpoint, self._flush_failed, self._before_recovery_point
        )
        report = StoreRecovery(self.parts, self._checkpoint, known).run()
        if report.has_repaired or known.end_offset is not None:
            self._queue_flush_service.flush_now(is_clean=False)
        else:
            self._queue_flush_service.flush_after_dispatch()
        if not report.was_clean:
            self.commit_log.flush_now()
            self._abort_file.write(self.commit_log.max_offset)
        # Data that recovery read need not stay mapped; files are mapped again when they are used.
        self._table.close()
        self.commit_log.files.close()
        # A member of a group recovers whenever it becomes or stops being the leader: that need not be logged.
        level = logging.INFO if known.is_own_doing else logging.WARNING
        for line in report.lines:
            _log.log(level, "recovery: %s", line)
        _log.info(
            "store loaded: commit log %d to %d, %d messages checked, %d dispatched again",
            report.commit_log_min_offset,
            report.commit_log_max_offset,
            report.messages_checked,
            report.messages_dispatched,
        )
        self.commit_log.on_flushed = self._note_flushed
        self._is_loaded = True
        return report

    async def _note_flushed(self, offset: int) -> None:
        await self._disk.off_loop(lambda: self._abort_file.write(offset))

    async def _before_recovery_point(self) -> None:
        if self.before_recovery_point is not None:
            await self.before_recovery_point()

    def start(self) -> None:
        """Accept messages from now on, and run the services on the current event loop."""
        assert self._is_loaded and self._queue_flush_service is not None, "load() comes first"
        self.dispatcher.start(self._tasks)
        self.flush_service.start(self._tasks)
        self._queue_flush_service.start(self._tasks)
        self.clean_service.start(self._tasks)
        self.check_service.start(self._tasks)
        self._flags.clear(WriteRefusal.NOT_RUNNING)

    async def shutdown(self) -> None:
        """Refuse messages, dispatch and flush pending ones, and unlock the folder."""
        if not self._is_loaded:
            self._close()
            return
        self._flags.refuse(WriteRefusal.NOT_RUNNING)
        self._is_loaded = False
        try:
            await self._tasks.stop()
        finally:
            self._shut_files()

    def _shut_files(self) -> None:
        self.dispatcher.drain()
        try:
            if self._queue_flush_service is None or self._flags.applies(WriteRefusal.DISK_FAULT):
                raise DiskFault("an earlier flush failed")
            self._queue_flush_service.flush_now(is_clean=self.dispatcher.pending_count == 0)
            if self.dispatcher.pending_count == 0:
                self._abort_file.remove()
        except DiskFault as fault:
            # The abort file stays: the next start checks everything.
            _log.error("the store could not be flushed to the disk: %s", fault)
        finally:
            self.flush_service.stop()
            self._close()

    async def abandon(self) -> None:
        """Stop immediately, like a killed process: nothing is dispatched or flushed, and the abort file stays."""
        self._flags.refuse(WriteRefusal.NOT_RUNNING)
        self._is_loaded = False
        try:
            await self._tasks.stop()
        finally:
            self.flush_service.stop()
            self._close()

    def _close(self) -> None:
        self.parts.close()
        if self._checkpoint is not None:
            self._checkpoint.close()
            self._checkpoint = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # --- adding ------------------------------------------------------------------------------------------------------

    def put_message(self, message: StoreMessage) -> PutMessageResult:
        """Append one message; it is visible to consumers after this turn of the event loop.

        Never raises for faults of a sender or the disk: ``status`` and ``remark`` of the result report them.
        """
        refusal = self._flags.refusal
        if refusal is not None:
            return PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE, refusal)
        try:
            result, request = self.commit_log.put_message(message)
        except (MessageRefused, ValueError, ProtocolError, DiskFault) as error:
            return self._refused(error)
        self.dispatcher.add(request)
        return result

    def put_batch(self, batch: StoreBatch) -> PutMessageResult:
        """Append a batch for one queue, all or nothing, with consecutive logical offsets, as
        :meth:`put_message` does.
        """
        refusal = self._flags.refusal
        if refusal is not None:
            return PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE, refusal)
        if not batch.members:
            return PutMessageResult(PutMessageStatus.MESSAGE_ILLEGAL, "the batch is empty")
        try:
            result, requests = self.commit_log.put_batch(batch)
        except (MessageRefused, ValueError, ProtocolError, DiskFault) as error:
            return self._refused(error)
        self.dispatcher.add_all(requests)
        return result

    def follow(self) -> ReplicaLog:
        """Act as a slave's store from now on: messages are refused, and the master's data is appended to the returned
        log.
        """
        self._flags.refuse(WriteRefusal.SLAVE)
        return ReplicaLog(self.commit_log, self.dispatcher, self.parts.config.delay_levels_ms)

    def _refused(self, error: Exception) -> PutMessageResult:
        if isinstance(error, MessageRefused):
            return PutMessageResult(error.status, str(error))
        if isinstance(error, DiskFault):
            self._disk_refused(error)
            return PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE, str(error))
        return PutMessageResult(PutMessageStatus.MESSAGE_ILLEGAL, f"a value does not fit its field in the log: {error}")

    def flushed(self, physical_end_offset: int) -> asyncio.Future[bool]:
        """Return a future that becomes True once the log is durable up to there, False after 5 s."""
        return self.flush_service.flushed(physical_end_offset)

    # --- inspection --------------------------------------------------------------------------------------------------

    @property
    def dispatch_behind_bytes(self) -> int:
        """Return by how many bytes the dispatcher lags behind the log."""
        return self.commit_log.max_offset - self.dispatcher.dispatched_offset

    @property
    def refusal(self) -> str | None:
        """Return why messages are refused; None while they are accepted."""
        return self._flags.refusal

    def delete_topics(self, topics: Iterable[str]) -> None:
        """Delete the consume queues of ``topics``. Their messages stay in the commit log until they expire, but no
        queue leads to them any more. Raises ``DiskFault``; then nothing was deleted.
        """
        self.dispatcher.drain()
        topics = tuple(topics)
        with_messages = [topic for topic in topics if self._table.queue_ids(topic)]
        if with_messages:
            log = self.commit_log
            self.parts.deleted_topics.add(with_messages, log.min_offset, log.max_offset)
        for topic in topics:
            self._table.remove_topic(topic)

    async def make_deletions_last(self) -> None:
        """Write a recovery point without the queues of deleted topics. Raises ``DiskFault``."""
        if self._queue_flush_service is not None:
            await self._queue_flush_service.flush_everything()

    def delete_expired_commit_log(self) -> int:
        """Delete commit-log files that are older than the retention time, whatever the hour, and return how many."""
        count = 0
        for _ in range(_DELETION_ROUNDS):
            self.clean_service.is_delete_demanded = True
            deleted = self.clean_service.clean()
            count += deleted
            if not deleted:
                break
        return count

    def delete_expired_consume_queues(self) -> None:
        """Delete the files of consume queues and index all of whose messages are gone from the commit log."""
        self.clean_service.follow_commit_log()

    # --- faults ------------------------------------------------------------------------------------------------------

    def _disk_refused(self, fault: DiskFault) -> None:
        reason = WriteRefusal.DISK_FULL if isinstance(fault, DiskFull) else WriteRefusal.DISK_FAULT
        if self._flags.refuse(reason, str(fault)):
            _log.error("messages are refused: %s", fault)

    def _dispatch_failed(self, fault: DiskFault | None) -> None:
        if fault is not None:
            self._disk_refused(fault)
        else:
            _log.warning("the disk takes consume-queue entries again")
            self._flags.clear(WriteRefusal.DISK_FULL)

    def _flush_failed(self, fault: DiskFault) -> None:
        if self._flags.refuse(WriteRefusal.DISK_FAULT, str(fault)):
            _log.error("messages are refused until the next start: %s", fault)
