"""How far each group has come (Kafka: ``GroupMetadataManager``, ``OffsetCommitKey`` version 1, ``OffsetCommitValue``
version 3).

As in Kafka the offsets are records of an internal topic, and what counts of each key is the last one; the table in
memory is made by reading them. Who leads that partition is the coordinator of all groups. Simplified: one partition
(Kafka: 50), and old records are not compacted away.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.broker.partitions import LOG_FOLDER, records_of
from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import encode_batch
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.wire.fields import Int16, Int32, Int64, KafkaMessage, String
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Clock, Disk

OFFSETS = TopicPartition("__consumer_offsets", 0)


@dataclass(frozen=True, slots=True)
class OffsetKey(KafkaMessage):
    """Whose offset, and where."""

    version: Int16
    group: String
    topic: String
    partition: Int32


@dataclass(frozen=True, slots=True)
class OffsetValue(KafkaMessage):
    """``offset``: of the next record that the group wants."""

    version: Int16
    offset: Int64
    leader_epoch: Int32
    metadata: String
    commit_timestamp_ms: Int64


class GroupOffsets:
    """:ivar committed: group -> partition -> what was committed last.

    :ivar log: where it is kept.
    """

    def __init__(self, disk: Disk, clock: Clock, tasks: BackgroundTasks) -> None:
        forever = PartitionLogConfig(retention_ms=-1)
        self.log = PartitionLog(disk, clock, f"{LOG_FOLDER}/{OFFSETS}", forever, tasks)
        self.committed: dict[str, dict[TopicPartition, OffsetValue]] = {}
        self._clock = clock
        self._read_epoch = -1

    def load(self) -> None:
        """Read what was committed. Blocks: for start-up only. Raises ``DiskFault``."""
        self.log.load()
        self._read()

    def lead(self, epoch: int) -> None:
        """This broker is the coordinator in that epoch: what others have kept counts, too. Raises ``DiskFault``."""
        if epoch != self._read_epoch:
            self._read_epoch = epoch
            self.committed.clear()
            self._read()

    def _read(self) -> None:
        for record in records_of(self.log):
            self._note(OffsetKey.decode(record.key or b""), OffsetValue.decode(record.value or b""))

    def commit(self, group: str, offsets: dict[TopicPartition, tuple[int, str]], leader_epoch: int = 0) -> None:
        """Keep offsets with what a client notes beside them. Raises ``DiskFull``, ``DiskFault``."""
        now_ms = self._clock.now_ms()
        entries = [
            (OffsetKey(1, group, place.topic, place.partition), OffsetValue(3, offset, -1, metadata, now_ms))
            for place, (offset, metadata) in offsets.items()
        ]
        self.log.append(
            encode_batch([Record(0, now_ms, key.encode(), value.encode()) for key, value in entries]), leader_epoch
        )
        for key, value in entries:
            self._note(key, value)

    def find(self, group: str, place: TopicPartition) -> OffsetValue | None:
        """None: the group has never committed one there."""
        return self.committed.get(group, {}).get(place)

    def _note(self, key: OffsetKey, value: OffsetValue) -> None:
        self.committed.setdefault(key.group, {})[TopicPartition(key.topic, key.partition)] = value
