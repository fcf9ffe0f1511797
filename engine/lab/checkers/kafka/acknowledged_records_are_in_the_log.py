"""Checker: a record that a Kafka producer knows to be stored is in the log of that partition, at that offset.

Anomaly: *lost write*.

Fault model. A crash of the process takes nothing that was appended: the page cache outlives it. A power cut may take
what was not flushed, and Kafka flushes nothing before it answers (``flush.messages`` is unlimited by default): it
relies on copies on other brokers, which do not exist in a lab with one broker. Expired files may go.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker, has_lone_kafka
from engine.lab.checkers.watch.kafka_watch import LoggedRecord
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import SendReturned


class AcknowledgedRecordsAreInTheLog(Checker):
    """Check that acknowledged records are in the log."""

    name = "acknowledged-records-are-in-the-log"
    anomaly = Anomaly.LOST_WRITE
    applies = staticmethod(has_lone_kafka)

    def record_send_returned(self, entry: SendReturned) -> None:
        watch = self.watch.kafka_brokers.get(entry.broker)
        if entry.status != "ok" or watch is None:
            return
        wanted = LoggedRecord(entry.broker, entry.topic, entry.queue_id, entry.queue_offset, entry.key)
        if watch.records.get(wanted[1:4]) != wanted and wanted not in watch.lost:
            self.report(wanted.element, self.text("not_there", record=wanted))

    def record_lost(self, record: LoggedRecord, is_lawful: bool) -> None:
        if not is_lawful:
            self.report(record.element, self.text("gone", record=record))
