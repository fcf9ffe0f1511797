"""The controller's decisions, as records of its log and as a table (Kafka: ``PartitionRecord``,
``RegisterBrokerRecord``, ``MetadataImage``).

Simplified: a record always has all fields, where Kafka has another kind for each change; topics are identified by name,
not by id; there are no snapshots of the log.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.records.record import Record
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.wire.fields import Int32, Int64, KafkaMessage, String

#: The controller's log, and the leader of a partition that has none.
METADATA = TopicPartition("__cluster_metadata", 0)
NO_LEADER = -1

_PARTITION, _BROKER = b"partition", b"broker"


@dataclass(frozen=True, slots=True)
class PartitionRecord(KafkaMessage):
    """A partition's replicas and leader. ``leader_epoch`` grows with each leader, ``partition_epoch`` with each change;
    ``isr``: the in-sync replicas.
    """

    topic: String
    partition: Int32
    leader: Int32
    leader_epoch: Int32
    partition_epoch: Int32
    replicas: tuple[Int32, ...]
    isr: tuple[Int32, ...]

    @property
    def place(self) -> TopicPartition:
        """Return the partition."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class BrokerRecord(KafkaMessage):
    """The registration of a broker; ``broker_epoch`` grows each time."""

    node_id: Int32
    broker_epoch: Int64


class ClusterImage:
    """The state that results from all decisions.

    :ivar partitions: current state of each partition.
    :ivar broker_epochs: epoch of each broker that has ever registered.
    """

    def __init__(self) -> None:
        self.partitions: dict[TopicPartition, PartitionRecord] = {}
        self.broker_epochs: dict[int, int] = {}

    def replay(self, record: Record) -> PartitionRecord | None:
        """Apply a record; return the state of its partition, if it is about one. Raises ``KafkaRefusal`` if it is
        damaged.
        """
        if record.key == _BROKER:
            broker = BrokerRecord.decode(record.value or b"")
            self.broker_epochs[broker.node_id] = broker.broker_epoch
            return None
        partition = PartitionRecord.decode(record.value or b"")
        self.partitions[partition.place] = partition
        return partition


def as_record(entry: PartitionRecord | BrokerRecord, now_ms: int) -> Record:
    """Encode an entry as a record of the log."""
    key = _PARTITION if isinstance(entry, PartitionRecord) else _BROKER
    return Record(0, now_ms, key, entry.encode())
