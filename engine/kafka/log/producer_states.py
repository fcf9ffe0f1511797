"""The last batches of each idempotent producer (Kafka: ``ProducerStateManager``).

A producer numbers its records per partition. A batch that was sent again because its response was lost is recognised by
its numbers and not appended twice; one that overtook another is refused. With transactions a producer has at most one
open transaction in a partition: from its first batch there to the marker that ends it.

When a partition is closed, the states are stored in a snapshot, in Kafka's format and with Kafka's file name, the next
offset. Without a snapshot the headers of all batches are read again. As in Kafka a snapshot has only the last batch of
each producer, the running broker the last five. Left out: producers that have been silent for a day do not expire.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from struct import Struct
from typing import NamedTuple

from engine.kafka.records.crc32c import crc32c
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record_batch import BatchHeader

#: Batches of a producer that may be in flight (``max.in.flight.requests.per.connection`` with idempotence).
BATCHES_KEPT = 5
SNAPSHOT_SUFFIX = ".snapshot"

_SEQUENCES = 1 << 31
_SNAPSHOT_VERSION = 1
#: Version, checksum of all that follows it, count.
_SNAPSHOT_HEAD = Struct(">hIi")
_SUMMED_FROM_BYTE = 6
#: Producer id, epoch, last sequence, last offset, offset delta, timestamp; the epoch of the coordinator of its last
#: transaction (not kept: -1), and where the open one begins (-1: no open one).
_SNAPSHOT_ENTRY = Struct(">qhiqiqiq")


class AppendedBatch(NamedTuple):
    """A batch of a producer: its sequence numbers and its offsets."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp_ms: int


#: State of a producer that has no batch in the present epoch.
_NO_BATCH = AppendedBatch(-1, -1, -1, -1, -1)


@dataclass(slots=True)
class ProducerState:
    """State of one producer in a partition.

    :ivar batches: its last batches, the newest at the end.
    :ivar transaction_begins_at: offset of the first record of the open transaction; -1: there is no open one.
    """

    epoch: int
    batches: deque[AppendedBatch] = field(default_factory=lambda: deque(maxlen=BATCHES_KEPT))
    transaction_begins_at: int = -1


class ProducerStates:
    """The states of a partition's producers: producer id -> what it has sent."""

    def __init__(self) -> None:
        self.producers: dict[int, ProducerState] = {}

    def known(self, header: BatchHeader) -> AppendedBatch | None:
        """Return the batch if it was appended before; None if it is new and the next one in sequence.

        Raises :class:`KafkaRefusal` if it is neither.
        """
        state = self.producers.get(header.producer_id)
        if header.producer_id < 0 or state is None:
            return None
        if header.producer_epoch < state.epoch:
            raise KafkaRefusal(
                KafkaErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} has begun epoch {state.epoch}; epoch {header.producer_epoch} is over",
            )
        if header.producer_epoch > state.epoch or not state.batches:
            expected = 0
        else:
            sequences = (header.base_sequence, _last_sequence(header))
            for batch in state.batches:
                if (batch.base_sequence, batch.last_sequence) == sequences:
                    return batch
            expected = (state.batches[-1].last_sequence + 1) % _SEQUENCES
        if header.base_sequence != expected:
            raise KafkaRefusal(
                KafkaErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} sends number {header.base_sequence} where {expected} is next",
            )
        return None

    def appended(self, header: BatchHeader) -> None:
        """Note that a batch that is not a marker is in the log, at the offsets in its header."""
        if header.producer_id < 0:
            return
        state = self._state_of(header)
        if header.is_transactional and state.transaction_begins_at < 0:
            state.transaction_begins_at = header.base_offset
        state.batches.append(
            AppendedBatch(
                header.base_sequence,
                _last_sequence(header),
                header.base_offset,
                header.last_offset,
                header.max_timestamp_ms,
            )
        )

    def ended(self, header: BatchHeader) -> int:
        """Note that a marker is in the log. Return where the transaction that it ends began; -1 if none was open."""
        state = self._state_of(header)
        begun_at, state.transaction_begins_at = state.transaction_begins_at, -1
        return begun_at

    @property
    def first_undecided_offset(self) -> int | None:
        """Return the first offset of the oldest open transaction; None if none is open."""
        begins = [state.transaction_begins_at for state in self.producers.values()]
        return min((offset for offset in begins if offset >= 0), default=None)

    def _state_of(self, header: BatchHeader) -> ProducerState:
        """Return the state for the header's epoch. A new epoch numbers its batches from 0; the transaction of the
        previous epoch is still open.
        """
        before = self.producers.get(header.producer_id)
        if before is not None and before.epoch == header.producer_epoch:
            return before
        begins_at = -1 if before is None else before.transaction_begins_at
        state = ProducerState(header.producer_epoch, transaction_begins_at=begins_at)
        self.producers[header.producer_id] = state
        return state

    def encode(self) -> bytes:
        """Encode the states as a snapshot."""
        entries: list[bytes] = []
        for producer_id, state in self.producers.items():
            last = state.batches[-1] if state.batches else _NO_BATCH
            delta = last.last_offset - last.base_offset
            entries.append(
                _SNAPSHOT_ENTRY.pack(
                    producer_id,
                    state.epoch,
                    last.last_sequence,
                    last.last_offset,
                    delta,
                    last.timestamp_ms,
                    -1,
                    state.transaction_begins_at,
                )
            )
        covered = len(entries).to_bytes(4, "big") + b"".join(entries)
        return _SNAPSHOT_HEAD.pack(_SNAPSHOT_VERSION, crc32c(covered), len(entries)) + b"".join(entries)

    @classmethod
    def decode(cls, data: bytes) -> ProducerStates | None:
        """Decode a snapshot; None if it is damaged."""
        if len(data) < _SNAPSHOT_HEAD.size:
            return None
        version, checksum, count = _SNAPSHOT_HEAD.unpack_from(data)
        is_whole = len(data) == _SNAPSHOT_HEAD.size + count * _SNAPSHOT_ENTRY.size
        if version != _SNAPSHOT_VERSION or not is_whole or crc32c(data[_SUMMED_FROM_BYTE:]) != checksum:
            return None
        states = cls()
        for values in _SNAPSHOT_ENTRY.iter_unpack(data[_SNAPSHOT_HEAD.size :]):
            producer_id, epoch, last_sequence, last_offset, delta, timestamp_ms, _, begins_at = values
            state = states.producers[producer_id] = ProducerState(epoch, transaction_begins_at=begins_at)
            if last_sequence < 0:
                continue
            base_sequence = (last_sequence - delta) % _SEQUENCES
            state.batches.append(
                AppendedBatch(base_sequence, last_sequence, last_offset - delta, last_offset, timestamp_ms)
            )
        return states


def _last_sequence(header: BatchHeader) -> int:
    """Return the last sequence number of a batch; after the largest 31-bit number comes 0."""
    return (header.base_sequence + header.last_offset_delta) % _SEQUENCES
