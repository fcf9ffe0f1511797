"""The partitions of a broker, and the requests that wait for new records in them (Kafka: ``LogManager``)."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from engine.kafka.broker.kafka_broker_config import KafkaBrokerConfig, checked_topic
from engine.kafka.log.partition_log import AppendResult, PartitionLog
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import decode_batch, read_header
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.records.transaction_marker import TransactionMarker
from engine.kafka.replication.purgatory import Purgatory
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Clock, Disk

#: Folder of all partitions (``log.dirs``).
LOG_FOLDER = "kafka-logs"

_READ_BYTES = 1_048_576

_log = logging.getLogger("glassmq.kafka")


def records_of(log: PartitionLog) -> Iterator[Record]:
    """Yield all records of a log. A broker's internal topics are tables, and their records are the changes. Raises
    :class:`KafkaRefusal`.
    """
    offset = log.log_start_offset
    while data := log.read(offset, _READ_BYTES).data:
        position = 0
        while position < len(data):
            yield from decode_batch(data, position)
            header = read_header(data, position)
            position += header.size_bytes
            offset = header.next_offset


class Partitions:
    """The partitions of a broker.

    :ivar logs: all logs, topic by topic.
    :ivar purgatory: the requests that wait.
    """

    def __init__(self, disk: Disk, clock: Clock, config: KafkaBrokerConfig, tasks: BackgroundTasks) -> None:
        self._config = config
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.purgatory = Purgatory()
        for topic, count in config.topics.items():
            for number in range(count):
                place = TopicPartition(checked_topic(topic), number)
                self.logs[place] = PartitionLog(disk, clock, f"{LOG_FOLDER}/{place}", config.log, tasks)

    def load(self) -> None:
        """Open and repair the partitions. Blocks: only for start-up. Raises ``DiskFault``, :class:`KafkaRefusal`."""
        for log in self.logs.values():
            for line in log.load().lines:
                _log.warning("recovery: %s", line)

    def close(self) -> None:
        """Close all partitions cleanly."""
        for log in self.logs.values():
            log.close()

    def find(self, place: TopicPartition) -> PartitionLog:
        """Return the log of a partition. Raises :class:`KafkaRefusal`, UNKNOWN_TOPIC_OR_PARTITION."""
        log = self.logs.get(place)
        if log is None:
            raise KafkaRefusal(KafkaErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {place}")
        return log

    async def append(self, place: TopicPartition, batches: bytes, leader_epoch: int = 0) -> AppendResult:
        """Append, and wake the requests that wait for it. Raises :class:`KafkaRefusal`, ``DiskFull``, ``DiskFault``."""
        log = self.find(place)
        result = log.append(batches, leader_epoch)
        await self._appended(place, log)
        return result

    async def append_marker(self, place: TopicPartition, marker: TransactionMarker) -> None:
        """Append the marker that ends a transaction in a partition. Raises ``DiskFull``, ``DiskFault``."""
        log = self.logs[place]
        log.append_marker(marker)
        await self._appended(place, log)

    async def _appended(self, place: TopicPartition, log: PartitionLog) -> None:
        self.purgatory.wake(place)
        if self._config.flush_before_answer:
            await log.flush()

    def delete_old(self) -> None:
        """Delete what the retention allows to delete."""
        for log in self.logs.values():
            for path in log.delete_old():
                _log.info("%s deleted: it was too old", path)
