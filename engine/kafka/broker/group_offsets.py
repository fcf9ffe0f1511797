"""Committed offsets of groups (Kafka: ``GroupMetadataManager``, ``OffsetCommitKey`` version 1, ``OffsetCommitValue``
version 3).

As in Kafka the offsets are records of an internal topic, of which the last one of each key counts; the table in memory
is built by reading them. The leader of that partition is the coordinator of all groups. Simplified: one partition
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
    """Key of a committed offset: the group and the partition."""

    version: Int16
    group: String
    topic: String
    partition: Int32


@dataclass(frozen=True, slots=True)
class OffsetValue(KafkaMessage):
    """Value of a committed offset; ``offset`` is that of the next record that the group will read."""

    version: Int16
    offset: Int64
    leader_epoch: Int32
    metadata: String
    commit_timestamp_ms: Int64


class GroupOffsets:
    """The committed offsets of all groups.

    :ivar committed: group -> partition -> what was committed last.
    :ivar log: the log that stores them.
    """

    def __init__(self, disk: Disk, clock: Clock, tasks: BackgroundTasks) -> None:
        forever = PartitionLogConfig(retention_ms=-1)
        self.log = PartitionLog(disk, clock, f"{LOG_FOLDER}/{OFFSETS}", forever, tasks)
        self.committed: dict[str, dict[TopicPartition, OffsetValue]] = {}
        self._clock = clock
        self._read_epoch = -1

    def load(self) -> None:
        """Read the committed offsets. Blocks: only for start-up. Raises ``DiskFault``."""
        self.log.load()
        self._read()

    def lead(self, epoch: int) -> None:
        """Become the coordinator in ``epoch`` and read what earlier coordinators have stored. Raises ``DiskFault``."""
        if epoch != self._read_epoch:
            self._read_epoch = epoch
            self.committed.clear()
            self._read()

    def _read(self) -> None:
        for record in records_of(self.log):
            self._note(OffsetKey.decode(record.key or b""), OffsetValue.decode(record.value or b""))

    def commit(self, group: str, offsets: dict[TopicPartition, tuple[int, str]], leader_epoch: int = 0) -> None:
        """Store offsets with the clients' metadata. Raises ``DiskFull``, ``DiskFault``."""
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
        """Return the group's committed offset in a partition; None if it has never committed one there."""
        return self.committed.get(group, {}).get(place)

    def _note(self, key: OffsetKey, value: OffsetValue) -> None:
        self.committed.setdefault(key.group, {})[TopicPartition(key.topic, key.partition)] = value
