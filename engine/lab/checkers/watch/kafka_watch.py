"""State of one Kafka broker for its checkers: read from its disk, not from its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.records.transaction_marker import is_commit
from engine.kafka.replication.replica_state import ReplicaState
from engine.lab.checkers.watch.broker_watch import Tell
from engine.lab.kafka.kafka_broker_node import KafkaBrokerNode
from engine.lab.kafka.stored_log import StoredRecordBatch, StoredSegment


class LoggedRecord(NamedTuple):
    """One record in a partition's log. ``key``: as :func:`engine.lab.kafka.stored_log.key_of` returns it."""

    broker: str
    topic: str
    partition: int
    offset: int
    key: str

    @property
    def element(self) -> dict[str, str | int]:
        """Return the element for a violation about the record."""
        return {
            "node": self.broker,
            "topic": self.topic,
            "queue": self.partition,
            "offset": self.offset,
            "message": self.key,
        }


class RecordListener:
    """Listener for events of Kafka brokers. The methods do nothing; a checker overrides those it needs."""

    def record_stored(self, record: LoggedRecord) -> None:
        """A broker has appended a record."""

    def record_lost(self, record: LoggedRecord, is_lawful: bool) -> None:
        """A record was in the log and no longer is; lawful if the power was cut before it was flushed, or it
        expired.
        """

    def partition_led(self, broker: str, topic: str, partition: int, epoch: int) -> None:
        """A broker of a cluster believes that it leads a partition in this epoch."""

    def offset_kept(self, broker: str, group: str, topic: str, partition: int, offset: int) -> None:
        """A broker has another committed offset for the group."""


#: Topic, partition, base offset.
_Place = tuple[str, int, int]


class KafkaWatch:
    """Follow one broker over all its incarnations.

    :param report: called with each change.
    :param power_cuts: as in :class:`~engine.lab.checkers.watch.broker_watch.BrokerWatch`.
    :ivar records: every record that is in a log now, by topic, partition and offset.
    :ivar lost: records that are gone lawfully.
    :ivar lost_until: (topic, partition) -> the end of the log before its tail was lost. Offsets below may have been
        given to other records again: a group past them skips those records.
    :ivar uncommitted: records of transactions that are open or were aborted, which need not be consumed.
    """

    def __init__(self, role: KafkaBrokerNode, report: Tell, power_cuts: Mapping[str, None]) -> None:
        self.records: dict[tuple[str, int, int], LoggedRecord] = {}
        self.lost: dict[LoggedRecord, None] = {}
        self.lost_until: dict[tuple[str, int], int] = {}
        self.uncommitted: dict[LoggedRecord, None] = {}
        self._role = role
        self._report = report
        self._power_cuts = power_cuts
        self._segments: list[StoredSegment] = []
        self._records: dict[_Place, list[LoggedRecord]] = {}
        #: Topic, partition, producer id -> the records of its open transaction.
        self._open: dict[tuple[str, int, int], list[LoggedRecord]] = {}
        self._offsets: dict[tuple[str, str, int], int] = {}
        self._led: dict[TopicPartition, int] = {}

    def high_watermark(self, topic: str, partition: int) -> int | None:
        """Return up to where this broker lets consumers read; None if it is not running, or has not finished truncating
        its log.
        """
        replica = self._role.replicas.get(TopicPartition(topic, partition))
        if replica is None or replica.state is ReplicaState.TRUNCATING:
            return None
        return replica.log.high_watermark

    def look(self) -> None:
        """Report what changed. This runs after every event of the broker."""
        segments = self._role.stored.segments()
        if len(segments) != len(self._segments) or any(
            new is not old for new, old in zip(segments, self._segments, strict=True)
        ):
            self._compare(segments)
        for partition, replica in self._role.replicas.items():
            if replica.is_leader and self._led.get(partition) != replica.leader_epoch:
                self._led[partition] = replica.leader_epoch
                self._report(RecordListener.partition_led, self._role.name, *partition, replica.leader_epoch)
        for place, offset in self._role.committed_offsets():
            if self._offsets.get(place) != offset:
                self._offsets[place] = offset
                self._report(RecordListener.offset_kept, self._role.name, *place, offset)

    def _compare(self, segments: list[StoredSegment]) -> None:
        """Compare segments: only the new part of one that has grown, everything of any other."""
        known = {segment[:4]: segment for segment in self._segments}
        self._segments = segments
        gone: dict[_Place, StoredRecordBatch] = {}
        come: dict[_Place, StoredRecordBatch] = {}
        first: dict[tuple[str, int], int] = {}
        for segment in segments:
            first.setdefault((segment.topic, segment.partition), segment.base_offset)
            before = known.pop(segment[:4], None)
            count = 0 if before is None else len(before.batches)
            if before is not None and segment.batches[:count] != before.batches:
                gone |= _by_place(before)
                count = 0
            come |= _by_place(segment, count)
        for segment in known.values():
            gone |= _by_place(segment)
        for place in [place for place, batch in gone.items() if place in come and come[place].header == batch.header]:
            del gone[place], come[place]
        for (topic, partition, offset), batch in gone.items():
            is_expired = offset < first.get((topic, partition), 0)
            is_lawful = is_expired or (self._role.name in self._power_cuts and not batch.is_flushed)
            for record in self._records.pop((topic, partition, offset)):
                self._lose(record, is_lawful)
        for place, batch in come.items():
            self._records[place] = [
                LoggedRecord(self._role.name, *place[:2], offset, key) for offset, key in batch.record_keys()
            ]
            if batch.header.is_transactional:
                self._note_transaction((*place[:2], batch.header.producer_id), batch, self._records[place])
            for record in self._records[place]:
                self.records[record[1:4]] = record
                self._report(RecordListener.record_stored, record)

    def _note_transaction(
        self, whose: tuple[str, int, int], batch: StoredRecordBatch, records: list[LoggedRecord]
    ) -> None:
        if not batch.header.is_control:
            self._open.setdefault(whose, []).extend(records)
            self.uncommitted.update(dict.fromkeys(records))
            return
        ended = self._open.pop(whose, [])
        if is_commit(batch.data):
            for record in ended:
                self.uncommitted.pop(record, None)

    def _lose(self, record: LoggedRecord, is_lawful: bool) -> None:
        self.records.pop(record[1:4], None)
        if is_lawful:
            self.lost[record] = None
            place = (record.topic, record.partition)
            self.lost_until[place] = max(self.lost_until.get(place, 0), record.offset + 1)
        self._report(RecordListener.record_lost, record, is_lawful)


def _by_place(segment: StoredSegment, begin: int = 0) -> dict[_Place, StoredRecordBatch]:
    return {(segment.topic, segment.partition, one.header.base_offset): one for one in segment.batches[begin:]}
