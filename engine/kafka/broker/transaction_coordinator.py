"""Transactions of producers, in outline (Kafka: ``TransactionCoordinator``, ``TransactionStateManager``).

A transaction is open from the first partition that is added to it. To end it, the coordinator records the outcome, then
writes a marker into each partition, then records that the transaction is complete::

    EMPTY -> ONGOING -> PREPARE_COMMIT -> markers -> COMPLETE_COMMIT -> ONGOING ...
                     -> PREPARE_ABORT  -> markers -> COMPLETE_ABORT  -> ONGOING ...

What was recorded before a crash is carried out after it: from PREPARE_COMMIT on, the transaction is committed. A
producer that starts with a known transactional id gets the same producer id and the next epoch. The open transaction of
the previous process is aborted, and that process is fenced. So is a producer that leaves a transaction open for longer
than its own timeout.

As in Kafka the table is stored in an internal topic. Simplified: the broker is alone, so the coordinator writes the
markers itself (Kafka's asks the leaders, WriteTxnMarkers); there is one partition (Kafka: 50); ids never expire;
offsets of groups cannot be part of a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from engine.kafka.broker.partitions import LOG_FOLDER, Partitions, records_of
from engine.kafka.client.producer_batch import ProducerId
from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import BatchHeader, encode_batch
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.records.transaction_marker import TransactionMarker
from engine.kafka.wire.fields import Int8, Int16, Int32, Int64, KafkaMessage, String
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Clock, Disk
from engine.runtime.state_table import successor

TRANSACTIONS = TopicPartition("__transaction_state", 0)
#: ``transaction.max.timeout.ms``
TIMEOUT_MAX_MS = 900_000
#: ``transaction.abort.timed.out.transaction.cleanup.interval.ms``
EXPIRY_INTERVAL_MS = 10_000
#: Most ids that are kept: a bound of our own.
TRANSACTIONAL_IDS_MAX = 10_000
_EPOCH_MAX = (1 << 15) - 1


class TransactionState(IntEnum):
    """State of a transaction, with Kafka's numbers."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5


_STEPS = {
    TransactionState.EMPTY: (TransactionState.ONGOING, TransactionState.EMPTY),
    TransactionState.ONGOING: (
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
    ),
    TransactionState.PREPARE_COMMIT: (TransactionState.COMPLETE_COMMIT,),
    TransactionState.PREPARE_ABORT: (TransactionState.COMPLETE_ABORT,),
    TransactionState.COMPLETE_COMMIT: (TransactionState.ONGOING, TransactionState.EMPTY),
    TransactionState.COMPLETE_ABORT: (TransactionState.ONGOING, TransactionState.EMPTY),
}
_ENDS = {
    TransactionState.PREPARE_COMMIT: TransactionState.COMPLETE_COMMIT,
    TransactionState.PREPARE_ABORT: TransactionState.COMPLETE_ABORT,
}


@dataclass(frozen=True, slots=True)
class TransactionKey(KafkaMessage):
    """Key of a transaction's state (``TransactionLogKey`` version 0)."""

    version: Int16
    transactional_id: String


@dataclass(frozen=True, slots=True)
class PartitionsOfTransaction(KafkaMessage):
    """Partitions of one topic that are part of a transaction."""

    topic: String
    partition_ids: tuple[Int32, ...]


@dataclass(frozen=True, slots=True)
class TransactionValue(KafkaMessage):
    """Value of a transaction's state (``TransactionLogValue`` version 0)."""

    version: Int16
    producer_id: Int64
    producer_epoch: Int16
    timeout_ms: Int32
    status: Int8
    partitions: tuple[PartitionsOfTransaction, ...] | None
    last_update_ms: Int64
    begun_ms: Int64


@dataclass(slots=True)
class Transaction:
    """The newest transaction of a transactional id.

    :ivar places: partitions that are part of it; empty once the markers are written.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    places: dict[TopicPartition, None] = field(default_factory=dict)
    begun_ms: int = -1

    def go(self, state: TransactionState) -> None:
        """Change the state. An illegal change is a bug."""
        self.state = successor(_STEPS, self.state, state, f"transaction {self.transactional_id}")


class TransactionCoordinator:
    """Coordinate transactions: ``await start()``; ``begin`` once per producer process, ``add``, ``end``; ``close()``.

    :ivar transactions: by transactional id.
    :ivar log: the log that stores them; it is created when the first transaction begins.
    """

    def __init__(
        self, disk: Disk, clock: Clock, partitions: Partitions, tasks: BackgroundTasks, *, flushes: bool
    ) -> None:
        """Create a coordinator. ``flushes``: what is acknowledged is on disk."""
        self.transactions: dict[str, Transaction] = {}
        forever = PartitionLogConfig(retention_ms=-1)
        self.log = PartitionLog(disk, clock, f"{LOG_FOLDER}/{TRANSACTIONS}", forever, tasks)
        self._disk = disk
        self._clock = clock
        self._partitions = partitions
        self._tasks = tasks
        self._flushes = flushes
        self._is_open = False
        #: Transactional ids whose markers are being written now.
        self._ending: dict[str, None] = {}

    async def start(self) -> None:
        """Read the stored transactions, and write the markers that a crash has left out. A marker that is there twice
        has no effect.

        Raises ``DiskFault``.
        """
        if not self._disk.list_folder(self.log.folder):
            return
        self._open()
        for transaction in self.transactions.values():
            if transaction.state in _ENDS:
                await self._write_markers(transaction)

    def close(self) -> None:
        """Close cleanly."""
        if self._is_open:
            self.log.close()

    def _open(self) -> None:
        self._is_open = True
        self.log.load()
        for record in records_of(self.log):
            key, value = TransactionKey.decode(record.key or b""), TransactionValue.decode(record.value or b"")
            self.transactions[key.transactional_id] = Transaction(
                key.transactional_id,
                value.producer_id,
                value.producer_epoch,
                value.timeout_ms,
                TransactionState(value.status),
                {
                    TopicPartition(topic.topic, number): None
                    for topic in value.partitions or ()
                    for number in topic.partition_ids
                },
                value.begun_ms,
            )
        self._tasks.every(EXPIRY_INTERVAL_MS, self.expire, "transactions that take too long")

    # --- producers' requests -----------------------------------------------------------------------------------------

    async def begin(self, transactional_id: str, timeout_ms: int, new_producer_id: int) -> ProducerId:
        """Return the id and the epoch for a process that starts. Raises :class:`KafkaRefusal`, ``DiskFault``."""
        if not transactional_id:
            raise KafkaRefusal(KafkaErrorCode.INVALID_REQUEST, "an empty transactional id: it needs a letter at least")
        if not 0 < timeout_ms <= TIMEOUT_MAX_MS:
            raise KafkaRefusal(
                KafkaErrorCode.INVALID_TRANSACTION_TIMEOUT,
                f"transaction.timeout.ms {timeout_ms}; allowed: 1 to {TIMEOUT_MAX_MS}",
            )
        if not self._is_open:
            self._open()
        known = self.transactions.get(transactional_id)
        if known is None:
            if len(self.transactions) >= TRANSACTIONAL_IDS_MAX:
                raise KafkaRefusal(
                    KafkaErrorCode.COORDINATOR_NOT_AVAILABLE, f"{TRANSACTIONAL_IDS_MAX} transactional ids are kept"
                )
            known = self.transactions[transactional_id] = Transaction(transactional_id, new_producer_id, -1, timeout_ms)
        self._check_not_ending(known)
        if known.state is TransactionState.ONGOING:
            await self._fence(known)
            self._check_not_ending(known)
        if known.epoch >= _EPOCH_MAX - 1:  # the last epoch is reserved for fencing
            known.producer_id, known.epoch = new_producer_id, -1
        known.epoch += 1
        known.timeout_ms = timeout_ms
        known.go(TransactionState.EMPTY)
        owner = ProducerId(known.producer_id, known.epoch)  # the next process may begin while this is written
        await self._keep(known)
        return owner

    async def add(self, transactional_id: str, owner: ProducerId, places: Iterable[TopicPartition]) -> None:
        """Add ``places`` to the transaction, which begins with the first. Raises :class:`KafkaRefusal`,
        ``DiskFault``.
        """
        transaction = self._of(transactional_id, owner)
        self._check_not_ending(transaction)
        new = [place for place in places if place not in transaction.places]
        if not new and transaction.state is TransactionState.ONGOING:
            return
        if transaction.state is not TransactionState.ONGOING:
            transaction.begun_ms = self._clock.now_ms()
        transaction.go(TransactionState.ONGOING)
        transaction.places.update(dict.fromkeys(new))
        await self._keep(transaction)

    async def end(self, transactional_id: str, owner: ProducerId, *, is_commit: bool) -> None:
        """Commit or abort the transaction; a repeated request gets the same answer. Raises :class:`KafkaRefusal`,
        ``DiskFault``.
        """
        transaction = self._of(transactional_id, owner)
        self._check_not_ending(transaction)
        done = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
        if transaction.state is done:
            return
        if transaction.state is not TransactionState.ONGOING:
            raise KafkaRefusal(
                KafkaErrorCode.INVALID_TXN_STATE,
                f"{transactional_id} is {transaction.state.name}: only an ONGOING transaction can be ended",
            )
        await self._end(transaction, is_commit=is_commit)

    def check_may_append(self, transactional_id: str, header: BatchHeader, place: TopicPartition) -> None:
        """Check that a batch belongs to the open transaction, and not to one that has ended. Raises
        :class:`KafkaRefusal`.
        """
        transaction = self._of(transactional_id, ProducerId(header.producer_id, header.producer_epoch))
        if transaction.state is not TransactionState.ONGOING or place not in transaction.places:
            raise KafkaRefusal(
                KafkaErrorCode.INVALID_TXN_STATE, f"{place} is not part of an open transaction of {transactional_id}"
            )

    async def expire(self) -> None:
        """Abort transactions that have been open for longer than their timeout, and continue those that a full disk has
        stopped.

        Raises ``DiskFull``, ``DiskFault``; the next call tries again.
        """
        now_ms = self._clock.now_ms()
        for transaction in list(self.transactions.values()):
            is_over = now_ms - transaction.begun_ms > transaction.timeout_ms
            if transaction.state is TransactionState.ONGOING and is_over:
                await self._fence(transaction)
            elif transaction.state in _ENDS and transaction.transactional_id not in self._ending:
                await self._write_markers(transaction)

    # --- implementation ----------------------------------------------------------------------------------------------

    def _of(self, transactional_id: str, owner: ProducerId) -> Transaction:
        found = self.transactions.get(transactional_id)
        if found is None or found.producer_id != owner.producer_id:
            raise KafkaRefusal(
                KafkaErrorCode.INVALID_PRODUCER_ID_MAPPING,
                f"{transactional_id!r} does not have the producer id {owner.producer_id}",
            )
        if found.epoch != owner.epoch:
            raise KafkaRefusal(
                KafkaErrorCode.INVALID_PRODUCER_EPOCH,
                f"{transactional_id} is in epoch {found.epoch}: epoch {owner.epoch} is fenced",
            )
        return found

    def _check_not_ending(self, transaction: Transaction) -> None:
        if transaction.state in _ENDS:
            raise KafkaRefusal(
                KafkaErrorCode.CONCURRENT_TRANSACTIONS, f"{transaction.transactional_id} is {transaction.state.name}"
            )

    async def _fence(self, transaction: Transaction) -> None:
        transaction.epoch += 1
        await self._end(transaction, is_commit=False)

    async def _end(self, transaction: Transaction, *, is_commit: bool) -> None:
        transaction.go(TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT)
        await self._keep(transaction)
        await self._write_markers(transaction)

    async def _write_markers(self, transaction: Transaction) -> None:
        is_commit = transaction.state is TransactionState.PREPARE_COMMIT
        marker = TransactionMarker(transaction.producer_id, transaction.epoch, is_commit)
        self._ending[transaction.transactional_id] = None
        try:
            for place in transaction.places:
                if place in self._partitions.logs:
                    await self._partitions.append_marker(place, marker)
        finally:
            del self._ending[transaction.transactional_id]
        transaction.places.clear()
        transaction.go(_ENDS[transaction.state])
        await self._keep(transaction)

    async def _keep(self, transaction: Transaction) -> None:
        now_ms = self._clock.now_ms()
        topics: dict[str, list[int]] = {}
        for place in transaction.places:
            topics.setdefault(place.topic, []).append(place.partition)
        key = TransactionKey(0, transaction.transactional_id)
        value = TransactionValue(
            0,
            transaction.producer_id,
            transaction.epoch,
            transaction.timeout_ms,
            transaction.state,
            tuple(PartitionsOfTransaction(topic, tuple(numbers)) for topic, numbers in topics.items()),
            now_ms,
            transaction.begun_ms,
        )
        self.log.append(encode_batch([Record(0, now_ms, key.encode(), value.encode())]))
        if self._flushes:
            await self.log.flush()
