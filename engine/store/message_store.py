"""The store as the broker sees it (RocketMQ: ``DefaultMessageStore``). It only joins its parts:

    put_message -> commit log -> dispatcher -> consume queues, index -> get_message, query_message
                       |                             |
                  flush service              flush service, recovery point, checkpoint

Simplified: no slaves, no write buffers outside the page cache.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Awaitable, Callable, Iterator, Sequence

from engine.protocol.errors import ProtocolError
from engine.protocol.message.message import MessageExt
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import DiskFault, DiskFull, FolderLock, Runtime
from engine.store.files.config_file import ConfigFile
from engine.store.files.mapping_pool import MappingPool
from engine.store.files.recovery_point import PATH as RECOVERY_POINT_PATH
from engine.store.files.running_flags import Refusal, RunningFlags
from engine.store.files.store_checkpoint import StoreCheckpoint
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.commit_log import CommitLog, MessageRefused
from engine.store.log.damaged_records import DamagedRecords
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus
from engine.store.log.store_batch import StoreBatch
from engine.store.log.store_message import StoreMessage
from engine.store.queues.consume_queue import ConsumeQueue, Entry
from engine.store.queues.consume_queue_ext import ConsumeQueueExtUnit
from engine.store.queues.consume_queue_table import ConsumeQueueTable
from engine.store.queues.dispatch_request import DispatchRequest
from engine.store.queues.index_service import IndexService
from engine.store.reading.get_message_result import GetMessageResult, QueryMessageResult
from engine.store.reading.message_filter import MessageFilter
from engine.store.reading.message_reader import MessageReader
from engine.store.recovery.recovery_report import RecoveryReport
from engine.store.recovery.store_recovery import ABORT_PATH, StoreRecovery
from engine.store.services.clean_service import CleanService
from engine.store.services.commit_log_check_service import CommitLogCheckService
from engine.store.services.commit_log_flush_service import CommitLogFlushService
from engine.store.services.flush_consume_queue_service import FlushConsumeQueueService
from engine.store.services.message_dispatcher import MessageDispatcher, MessagesArrived

_log = logging.getLogger("glassmq.store")

#: A round deletes at most 10 files (``MAX_MANUAL_DELETE_FILE_TIMES`` of ``CleanCommitLogService``).
_DELETION_ROUNDS = 20


class MessageStore:
    """Use: ``load()``, ``start()``, put and get, ``await shutdown()``. After that the object is of no use any more."""

    def __init__(self, runtime: Runtime, config: MessageStoreConfig | None = None) -> None:
        self.config = config = config or MessageStoreConfig()
        self._disk = disk = runtime.disk
        self._clock = clock = runtime.clock
        self._tasks = BackgroundTasks(f"{runtime.node_name}/store")
        self._flags = RunningFlags()
        self._flags.refuse(Refusal.NOT_RUNNING)
        self._lock: FolderLock | None = None
        self._is_loaded = False
        pool = MappingPool(config.max_mapped_files)
        ext_file_size = config.mapped_file_size_consume_queue_ext if config.enable_consume_queue_ext else None
        self._table = ConsumeQueueTable(disk, pool, config.mapped_file_size_consume_queue, ext_file_size)
        self._index = (
            IndexService(disk, pool, clock, config.max_hash_slot_num, config.max_index_num)
            if config.message_index_enable
            else None
        )
        self.commit_log = CommitLog(disk, pool, clock, config, self._table)
        self.dispatcher = MessageDispatcher(self._table, self._index, self._dispatch_failed)
        self.flush_service = CommitLogFlushService(self.commit_log, config, clock, self._flush_failed)
        self.clean_service = CleanService(
            disk, clock, config, self.commit_log, self._table, self._index, self.dispatcher, self._flags
        )
        self.check_service = CommitLogCheckService(config, clock, self.commit_log, self._table)
        self.clean_service.after_round = self.check_service.walk_if_due
        self._reader = MessageReader(config, self.commit_log, self._table, self._index)
        self._recovery_point_file = ConfigFile(disk, RECOVERY_POINT_PATH)
        self._checkpoint: StoreCheckpoint | None = None
        self._queue_flush_service: FlushConsumeQueueService | None = None
        #: Awaited before a recovery point is written, while the broker runs.
        self.before_recovery_point: Callable[[], Awaitable[None]] | None = None

    # --- life --------------------------------------------------------------------------------------------------------

    def load(self) -> RecoveryReport:
        """Lock the folder, read what is there and repair it. Blocks: for start-up only.

        Raises ``FolderLocked`` when another broker uses the folder, ``DiskFull``, ``DiskFault``.
        """
        self._lock = self._disk.lock_folder()
        try:
            return self._load()
        except BaseException:
            self._close()
            raise

    def _load(self) -> RecoveryReport:
        self._checkpoint = StoreCheckpoint(self._disk)
        self._queue_flush_service = FlushConsumeQueueService(
            self.config,
            self._clock,
            self.commit_log,
            self._table,
            self._index,
            self.dispatcher,
            self.flush_service,
            self._checkpoint,
            self._recovery_point_file,
            self._flush_failed,
            self._before_recovery_point,
        )
        report = StoreRecovery(
            self._disk,
            self._clock,
            self.config,
            self.commit_log,
            self._table,
            self._index,
            self.dispatcher,
            self._checkpoint,
            self._recovery_point_file,
        ).run()
        self._queue_flush_service.flush_now(is_clean=False)
        # What recovery read need not stay mapped; files are mapped again when they are used.
        self._table.close()
        self.commit_log.files.close()
        for line in report.lines:
            _log.warning("recovery: %s", line)
        _log.info(
            "store loaded: commit log %d to %d, %d messages checked, %d dispatched again",
            report.commit_log_min_offset,
            report.commit_log_max_offset,
            report.messages_checked,
            report.messages_dispatched,
        )
        self._is_loaded = True
        return report

    async def _before_recovery_point(self) -> None:
        if self.before_recovery_point is not None:
            await self.before_recovery_point()

    def start(self) -> None:
        """Take messages from now on, and run the services on the current event loop."""
        assert self._is_loaded and self._queue_flush_service is not None, "load() comes first"
        self.dispatcher.start(self._tasks)
        self.flush_service.start(self._tasks)
        self._queue_flush_service.start(self._tasks)
        self.clean_service.start(self._tasks)
        self.check_service.start(self._tasks)
        self._flags.clear(Refusal.NOT_RUNNING)

    async def shutdown(self) -> None:
        """Refuse messages, dispatch and flush what is there, and give the folder back."""
        if not self._is_loaded:
            self._close()
            return
        self._flags.refuse(Refusal.NOT_RUNNING)
        self._is_loaded = False
        await self._tasks.stop()
        self.dispatcher.drain()
        try:
            if self._queue_flush_service is None or self._flags.applies(Refusal.DISK_FAULT):
                raise DiskFault("an earlier flush failed")
            self._queue_flush_service.flush_now(is_clean=self.dispatcher.pending_count == 0)
            if self.dispatcher.pending_count == 0:
                self._disk.remove(ABORT_PATH)
        except DiskFault as fault:
            # The abort file stays: the next start checks everything.
            _log.error("the store could not be brought to the disk: %s", fault)
        finally:
            self.flush_service.stop()
            self._close()

    def _close(self) -> None:
        self._table.close()
        if self._index is not None:
            self._index.close()
        self.commit_log.files.close()
        if self._checkpoint is not None:
            self._checkpoint.close()
            self._checkpoint = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # --- putting -----------------------------------------------------------------------------------------------------

    def put_message(self, message: StoreMessage) -> PutMessageResult:
        """Append one message; it is visible to consumers after this turn of the event loop. Never raises for what a
        sender or the disk can do wrong: see ``status`` and ``remark`` of the result.
        """
        refusal = self._flags.refusal
        if refusal is not None:
            return PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE, refusal)
        try:
            result, request = self.commit_log.put_message(message)
        except (MessageRefused, struct.error, ProtocolError, DiskFault) as error:
            return self._refused(error)
        self.dispatcher.add(request)
        return result

    def put_batch(self, batch: StoreBatch) -> PutMessageResult:
        """Append a batch for one queue, all or nothing, with consecutive logical offsets. As :meth:`put_message`."""
        refusal = self._flags.refusal
        if refusal is not None:
            return PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE, refusal)
        if not batch.members:
            return PutMessageResult(PutMessageStatus.MESSAGE_ILLEGAL, "the batch is empty")
        try:
            result, requests = self.commit_log.put_batch(batch)
        except (MessageRefused, struct.error, ProtocolError, DiskFault) as error:
            return self._refused(error)
        self.dispatcher.add_all(requests)
        return result

    def _refused(self, error: Exception) -> PutMessageResult:
        if isinstance(error, MessageRefused):
            return PutMessageResult(error.status, str(error))
        if isinstance(error, DiskFault):
            self._disk_refused(error)
            return PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE, str(error))
        return PutMessageResult(PutMessageStatus.MESSAGE_ILLEGAL, f"a value does not fit its field in the log: {error}")

    def flushed(self, physical_end_offset: int) -> asyncio.Future[bool]:
        """See :meth:`CommitLogFlushService.flushed`: True once the log is durable up to there, False after 5 s."""
        return self.flush_service.flushed(physical_end_offset)

    # --- getting -----------------------------------------------------------------------------------------------------

    def get_message(
        self,
        group: str,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        message_filter: MessageFilter | None = None,
        max_bytes: int | None = None,
    ) -> GetMessageResult:
        """Messages of one queue from logical ``offset`` on: at most ``max_messages``, 256 KiB, but one at least.

        ``max_bytes`` takes the place of the configured limits, those in messages too; see ``message_collector``.

        ``group`` is for who watches; it does not change the result. ``next_begin_offset`` is behind the last entry
        looked at, ``min_offset`` when ``offset`` is too small, ``max_offset`` when it is too large.
        """
        return self._reader.get_message(topic, queue_id, offset, max_messages, message_filter, max_bytes)

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Logical offset behind the last visible message; 0 for a queue that has none."""
        queue = self._table.get(topic, queue_id)
        return queue.max_offset if queue is not None else 0

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Logical offset of the oldest message; 0 for a queue that never had one."""
        queue = self._table.get(topic, queue_id)
        return queue.min_offset if queue is not None else 0

    def offset_by_time(self, topic: str, queue_id: int, timestamp_ms: int) -> int:
        """Logical offset of the message whose store time is nearest to ``timestamp_ms``; of two as near the older one.

        As in RocketMQ that may be a message stored before the time, and is the last one when all are older: who wants
        none of those compares the times. Of several messages of exactly that millisecond the first; 0 for an unknown
        queue.
        """
        return self._reader.offset_by_time(topic, queue_id, timestamp_ms)

    def earliest_message_time(self, topic: str, queue_id: int) -> int:
        """Store time (ms) of the oldest message of the queue, -1 when it has none."""
        return self._reader.earliest_message_time(topic, queue_id)

    def last_store_timestamp(self, topic: str, queue_id: int) -> int:
        """Store time (ms) of the newest message of the queue, 0 when it has none."""
        queue = self._table.get(topic, queue_id)
        return self._reader.last_store_timestamp(queue) if queue is not None else 0

    def message_at(self, commit_log_offset: int) -> MessageExt | None:
        """The message that begins there, or None. Its body is as stored."""
        return self._reader.message_at(commit_log_offset)

    def message_in_queue(self, topic: str, queue_id: int, queue_offset: int) -> MessageExt | None:
        """The message of that logical offset, or None. Its body is as stored."""
        return self._reader.message_in_queue(topic, queue_id, queue_offset)

    def raw_message_at(self, commit_log_offset: int) -> bytes | None:
        """The bytes of the message that begins there, or None."""
        return self.commit_log.record_at(commit_log_offset)

    def query_message(self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int) -> QueryMessageResult:
        """Messages of ``topic`` whose unique id or one of whose KEYS is ``key``, stored from ``begin_ms`` to
        ``end_ms``, newest first. RocketMQ leaves the comparison of the key itself to the client.
        """
        return self._reader.query_message(topic, key, max_count, begin_ms, end_ms)

    @property
    def damaged_records(self) -> DamagedRecords:
        """What reads and checks since the start could not vouch for."""
        return self.commit_log.damaged_records

    @property
    def entries_rebuilt(self) -> int:
        """How many consume-queue entries did not fit the log when they were read, and were made again."""
        return self._reader.entries.repair.entries_rebuilt

    # --- looking in --------------------------------------------------------------------------------------------------

    def consume_queues(self) -> Iterator[tuple[str, int, ConsumeQueue]]:
        """``(topic, queue id, queue)`` of all queues, sorted."""
        for queue in self._table:
            yield queue.topic, queue.queue_id, queue

    def topics(self) -> list[str]:
        """All topics that have a message or had one, sorted."""
        return self._table.topics()

    def consume_queue_entries(self, topic: str, queue_id: int, start: int, count: int) -> list[Entry]:
        """``(commit-log offset, size, tags code)`` of at most ``count`` entries from logical offset ``start`` on."""
        queue = self._table.get(topic, queue_id)
        return self._reader.consume_queue_entries(queue, start, count) if queue is not None else []

    def consume_queue_units(
        self, topic: str, queue_id: int, start: int, count: int
    ) -> list[tuple[Entry, ConsumeQueueExtUnit | None]]:
        """The same entries as they are written: an entry may hold an address instead of its tags code, and comes with
        the unit that lies there; None where none does.
        """
        queue = self._table.get(topic, queue_id)
        entries = queue.entries(start, count) if queue is not None else []
        ext = queue.ext if queue is not None else None
        return [(entry, ext.get(entry[2]) if ext is not None else None) for entry in entries]

    @property
    def commit_log_min_offset(self) -> int:
        """Where the oldest commit-log file begins."""
        return self.commit_log.min_offset

    @property
    def commit_log_max_offset(self) -> int:
        """Behind the last byte written."""
        return self.commit_log.max_offset

    @property
    def flushed_offset(self) -> int:
        """The log is durable before this offset."""
        return self.commit_log.flushed_offset

    @property
    def dispatched_offset(self) -> int:
        """Messages before this offset of the log are visible."""
        return self.dispatcher.dispatched_offset

    @property
    def dispatch_behind_bytes(self) -> int:
        """How far the dispatcher is behind the log."""
        return self.commit_log.max_offset - self.dispatcher.dispatched_offset

    @property
    def refusal(self) -> str | None:
        """Why messages are refused; None while they are welcome."""
        return self._flags.refusal

    @property
    def on_messages_arrived(self) -> MessagesArrived | None:
        """Called with every list of messages that became visible, in the order of the log."""
        return self.dispatcher.on_messages_arrived

    @on_messages_arrived.setter
    def on_messages_arrived(self, callback: MessagesArrived | None) -> None:
        self.dispatcher.on_messages_arrived = callback

    def add_dispatch_listener(self, listener: Callable[[Sequence[DispatchRequest]], None]) -> None:
        """Let ``listener`` have every list of messages that became visible together. It must be quick."""
        self.dispatcher.listeners.append(listener)

    def delete_topic(self, topic: str) -> int:
        """Delete the consume queues of ``topic``; returns how many there were. Its messages stay in the commit log
        until they expire, but nobody finds them through a queue any more.
        """
        self.dispatcher.drain()
        return self._table.remove_topic(topic)

    async def make_deletions_last(self) -> None:
        """Write a recovery point. A crash before it may bring queues back that :meth:`delete_topic` removed, because
        the log still has their messages; one after it cannot. Raises ``DiskFault``.
        """
        if self._queue_flush_service is not None:
            await self._queue_flush_service.flush_everything()

    def delete_expired_commit_log(self) -> int:
        """Delete commit-log files that are older than the retention time, whatever the hour. Returns how many."""
        count = 0
        for _ in range(_DELETION_ROUNDS):
            self.clean_service.is_delete_demanded = True
            deleted = self.clean_service.clean()
            count += deleted
            if not deleted:
                break
        return count

    def delete_expired_consume_queues(self) -> None:
        """Delete the files of consume queues and index all of whose messages have left the commit log."""
        self.clean_service.follow_commit_log()

    # --- faults ------------------------------------------------------------------------------------------------------

    def _disk_refused(self, fault: DiskFault) -> None:
        reason = Refusal.DISK_FULL if isinstance(fault, DiskFull) else Refusal.DISK_FAULT
        if self._flags.refuse(reason, str(fault)):
            _log.error("messages are refused: %s", fault)

    def _dispatch_failed(self, fault: DiskFault | None) -> None:
        if fault is not None:
            self._disk_refused(fault)
        else:
            _log.warning("the disk takes consume-queue entries again")
            self._flags.clear(Refusal.DISK_FULL)

    def _flush_failed(self, fault: DiskFault) -> None:
        if self._flags.refuse(Refusal.DISK_FAULT, str(fault)):
            _log.error("messages are refused until the next start: %s", fault)
