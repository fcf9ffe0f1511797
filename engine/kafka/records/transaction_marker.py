"""The outcome of a transaction: the only record of a control batch (Kafka: ``EndTransactionMarker``,
``ControlRecordType``).

The coordinator writes one into each partition of the transaction. It takes an offset, but no application sees it.
"""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

from engine.kafka.records.record import Record, damaged
from engine.kafka.records.record_batch import CONTROL, TRANSACTIONAL, decode_batch, encode_batch

_VERSION = 0
_ABORT, _COMMIT = 0, 1
#: Version and kind.
_KEY = Struct(">hh")
#: Version and the coordinator's epoch, which identifies the leader of its log.
_VALUE = Struct(">hi")


class TransactionMarker(NamedTuple):
    """The producer whose transaction is ended, and the outcome."""

    producer_id: int
    producer_epoch: int
    is_commit: bool

    def encode(self, timestamp_ms: int) -> bytes:
        """Encode the marker as a batch that has no offset yet."""
        key = _KEY.pack(_VERSION, _COMMIT if self.is_commit else _ABORT)
        return encode_batch(
            [Record(0, timestamp_ms, key, _VALUE.pack(_VERSION, 0))],
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            flags=TRANSACTIONAL | CONTROL,
        )


def is_commit(data: bytes, position: int = 0) -> bool:
    """Return whether the control batch at ``position`` commits. Raises :class:`KafkaRefusal` if it neither commits nor
    aborts.
    """
    record = decode_batch(data, position)[0]
    try:
        _, kind = _KEY.unpack(record.key or b"")
    except error as reason:
        raise damaged(f"control record at offset {record.offset}: its key is not a kind of marker") from reason
    if kind not in (_ABORT, _COMMIT):
        raise damaged(f"control record at offset {record.offset}: kind {kind}, neither abort 0 nor commit 1")
    return bool(kind == _COMMIT)
