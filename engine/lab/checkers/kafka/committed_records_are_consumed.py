"""Checker: a record before a group's committed offset was consumed by one of its members; in the end every record is.

Anomaly: *skipped*. The committed offset is past a record that no member has received, and none will receive it; or all
has been calm for long, a member that is assigned the partition runs, and a record still waits.

Fault model: any, of an application that commits after its records are consumed. Who commits before loses in a crash
what it had not come to. After a power cut that took the tail of a log its offsets are given to other records: a group
that was past them skips those, and that is left out. (Kafka's consumers since 2.3 look whether the log was cut, by the
epoch of its leader; the one here does not.) Records of transactions that were not committed are left out.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker, has_lone_kafka
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.kafka_watch import LoggedRecord
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import ConsumeEnded
from engine.lab.scenario.kinds.kafka import KafkaConsumerSpec


class CommittedRecordsAreConsumed(Checker):
    """Check that committed records are consumed."""

    name = "committed-records-are-consumed"
    anomaly = Anomaly.SKIPPED
    applies = staticmethod(has_lone_kafka)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: Group -> the records that it has consumed.
        self._consumed: dict[str, dict[LoggedRecord, None]] = {}

    def record_consumed(self, entry: ConsumeEnded) -> None:
        record = LoggedRecord(entry.broker, entry.topic, entry.queue_id, entry.queue_offset, entry.key)
        self._consumed.setdefault(entry.group, {})[record] = None

    def offset_kept(self, broker: str, group: str, topic: str, partition: int, offset: int) -> None:
        for record in self.watch.kafka_brokers[broker].records.values():
            if record[1:3] == (topic, partition) and record.offset < offset:
                self._look(group, record, "passed")

    def run_ended(self) -> None:
        if not self.watch.has_been_calm:
            return
        for spec in self.world.scenario.of_kind(KafkaConsumerSpec):
            if self.world.nodes[spec.name].status != "running":
                continue
            for watch in self.watch.kafka_brokers.values():
                for record in watch.records.values():
                    if record.topic == spec.topic and record.partition in (spec.partitions or (record.partition,)):
                        self._look(spec.group, record, "waits")

    def _look(self, group: str, record: LoggedRecord, how: str) -> None:
        place = (record.topic, record.partition)
        watch = self.watch.kafka_brokers[record.broker]
        is_due = record.offset >= watch.lost_until.get(place, 0) and record not in watch.uncommitted
        if is_due and record not in self._consumed.get(group, {}):
            text = self.text(how, record=record, group=group)
            self.report({**record.element, "group": group}, text)
