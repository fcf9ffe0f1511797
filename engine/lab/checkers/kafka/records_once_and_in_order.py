"""Checkers: each record is in the log once, and the records of a producer are stored in a partition in send order.

Anomalies: *duplicate*: an answer is lost, the producer sends the batch again, and the broker appends it once more; *out
of order*: a batch failed and was sent again while a later one was appended.

Fault model: any, of a producer with ``enable.idempotence`` (a producer id, and a sequence number for each partition:
the broker recognises a batch that it has, and refuses one that leaves a gap). Except for its first batch in a
partition: a broker that knows nothing of a producer takes any number from it, as Kafka's does. That relies on TCP,
which never loses a single frame of a connection; the lab may. If the first batch is lost and a later one in flight is
not, what was sent before the broker knew the producer may be stored in any order, and twice. Without
``enable.idempotence`` only that: one request in flight at a time keeps the order, not more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from engine.lab.checkers.watch.checker import Checker, has_kafka
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.kafka_watch import LoggedRecord
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import SendInvoked

#: Producer, broker, topic, partition.
_Place = tuple[str, str, str, int]


class _Sends:
    """The position of each record among all sends, and whether it began before its broker knew its producer."""

    def __init__(self, invoked: Sequence[SendInvoked]) -> None:
        self._invoked = invoked
        #: Key -> the producer, and the position among all sends.
        self._sent: dict[str, tuple[str, int]] = {}
        #: How many records of the producer the broker holds.
        self._held: Counter[_Place] = Counter()
        #: Number of sends that had begun when a broker accepted a producer's first batch that was not the first one
        #: sent.
        self._free_below: dict[_Place, int] = {}

    def stored(self, record: LoggedRecord) -> tuple[_Place, int] | None:
        """Return where it was stored, and its position among all sends; None if it is exempt or was not sent here."""
        for number in range(len(self._sent), len(self._invoked)):
            self._sent[self._invoked[number].key] = (self._invoked[number].node, number)
        if record.key not in self._sent:
            return None
        producer, number = self._sent[record.key]
        place = (producer, *record[:3])
        if not self._held[place] and self._has_skipped(producer, record.topic, number):
            self._free_below[place] = len(self._invoked)
        self._held[place] += 1
        return None if number < self._free_below.get(place, 0) else (place, number)

    def lost(self, record: LoggedRecord) -> tuple[_Place, int] | None:
        """Return the same for a record that is gone."""
        if record.key not in self._sent:
            return None
        producer, number = self._sent[record.key]
        place = (producer, *record[:3])
        self._held[place] -= 1
        return place, number

    def _has_skipped(self, producer: str, topic: str, number: int) -> bool:
        """Return whether the producer sent another record before. One for another partition counts, too, as the
        partition is not recorded.
        """
        return any(sent.node == producer and sent.topic == topic for sent in self._invoked[:number])


class RecordsAreInTheLogOnce(Checker):
    """Check that each record is in the log once."""

    name = "records-are-in-the-log-once"
    anomaly = Anomaly.DUPLICATE
    applies = staticmethod(has_kafka)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._sends = _Sends(self.world.history.sends_invoked)
        #: (broker, topic, key) -> the first copy.
        self._stored: dict[tuple[str, str, str], LoggedRecord] = {}

    def record_stored(self, record: LoggedRecord) -> None:
        is_bound = self._sends.stored(record) is not None
        first = self._stored.setdefault((record.broker, record.topic, record.key), record)
        if first is not record and is_bound:
            self.report(record.element, self.text("again", record=record, first=first))

    def record_lost(self, record: LoggedRecord, is_lawful: bool) -> None:
        self._sends.lost(record)
        self._stored.pop((record.broker, record.topic, record.key), None)


class RecordsAreInOrder(Checker):
    """Check that records are in send order."""

    name = "records-are-in-order"
    anomaly = Anomaly.OUT_OF_ORDER
    applies = staticmethod(has_kafka)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._sends = _Sends(self.world.history.sends_invoked)
        #: The non-exempt records of a place in order, with their positions among all sends.
        self._stored: dict[_Place, list[tuple[int, LoggedRecord]]] = {}

    def record_stored(self, record: LoggedRecord) -> None:
        found = self._sends.stored(record)
        if found is None:
            return
        place, number = found
        stored = self._stored.setdefault(place, [])
        if stored and number < stored[-1][0]:
            self.report(record.element, self.text("overtaken", record=record, before=stored[-1][1]))
        else:
            stored.append((number, record))

    def record_lost(self, record: LoggedRecord, is_lawful: bool) -> None:
        found = self._sends.lost(record)
        if found is not None:
            place, number = found
            stored = self._stored.get(place, [])
            if (number, record) in stored:
                stored.remove((number, record))
