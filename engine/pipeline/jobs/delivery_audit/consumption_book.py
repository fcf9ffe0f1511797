"""The driver's state about consumption: the consumed offsets per group and queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.pipeline.jobs.delivery_audit.consumption import JudgedTime, counted, facts_of, lost_messages
from engine.pipeline.jobs.delivery_audit.judged_groups import JudgedGroups
from engine.pipeline.jobs.delivery_audit.latencies import Latencies
from engine.pipeline.jobs.delivery_audit.offset_sets import add_word
from engine.pipeline.jobs.delivery_audit.queue_owners import QueueOwner, QueueOwners
from engine.pipeline.jobs.job import persisted
from engine.protocol.number_ranges import NumberRange, count_of
from engine.protocol.number_set import NumberSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

#: Most acknowledged messages that are not stored and are listed individually.
SAMPLES_MAX = 500
#: Most groups that are judged without being named, each counted once per topic; the book is bounded whatever a client
#: reports.
GROUPS_MAX = 1_000


@dataclass(slots=True)
class GroupQueue:
    """Offsets of one queue that one group reported."""

    consumed: NumberSet = field(default_factory=NumberSet)
    twice: NumberSet = field(default_factory=NumberSet)
    failed: NumberSet = field(default_factory=NumberSet)
    owners: QueueOwners = field(default_factory=QueueOwners)

    @property
    def first(self) -> int:
        """Return the lowest offset that the group reported."""
        return min(numbers.minimum for numbers in (self.consumed, self.failed) if numbers.count)


@dataclass(frozen=True, slots=True)
class NotStored:
    """A message that a broker acknowledged, according to the producer, and that is not in its topic."""

    topic: str
    unique_id: str
    producer_group: str
    at_ms: int


@dataclass(slots=True)
class ConsumptionBook:
    """A book that grows with the history of every batch.

    :ivar groups: the groups that are judged. Reports of others are not kept.
    :ivar judged: (topic, queue) -> offsets that should have been consumed.
    :ivar queues: (group, topic) -> queue -> what it reported.
    :ivar offsets: (group, topic) -> queue -> the group's offset at its broker, if that was asked.
    :ivar not_stored: topic -> how many acknowledged messages are not stored.
    :ivar calls_of_others: successful calls of groups beyond :data:`GROUPS_MAX`.
    """

    groups: JudgedGroups
    judged: dict[tuple[str, str], NumberSet] = field(default_factory=dict)
    queues: dict[tuple[str, str], dict[str, GroupQueue]] = field(default_factory=dict)
    offsets: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    latency: dict[tuple[str, str], Latencies] = field(default_factory=dict)
    not_stored: dict[str, int] = field(default_factory=dict)
    samples: list[NotStored] = field(default_factory=list)
    unreadable: int = 0
    calls_of_others: int = 0

    def add(self, history: DataFrame, judged: JudgedTime) -> None:
        """Add what was reported in one batch.

        :param history: as :func:`~engine.pipeline.jobs.delivery_audit.consumption.history_of` returns it.
        """
        with persisted(facts_of(history, judged)) as facts:
            # One by one: there is a row for each 64 offsets.
            for row in counted(facts).toLocalIterator(True):
                self._add_counts(row)
            if len(self.samples) < min(SAMPLES_MAX, sum(self.not_stored.values())):
                lost = lost_messages(facts).orderBy("at_ms").limit(SAMPLES_MAX - len(self.samples))
                self.samples += [NotStored(*row) for row in lost.collect()]

    def _add_counts(self, row: Row) -> None:
        """Add a row of :func:`~engine.pipeline.jobs.delivery_audit.consumption.counted`."""
        key = (row.client_group, row.topic)
        if row.rounded_ms is not None:
            if row.rounded_ms < 0 or not self.groups.is_judged(*key):
                return
            if not self._takes(*key):
                self.calls_of_others += row.events
            else:
                self.latency.setdefault(key, Latencies()).add(row.rounded_ms, row.events, row.longest_ms)
        elif row.kind == "unreadable":
            self.unreadable += row.records
        elif row.kind == "acknowledged":
            self.not_stored[row.topic] = self.not_stored.get(row.topic, 0) + row.events
        elif row.kind == "stored":
            add_word(self.judged.setdefault((row.topic, row.queue), NumberSet()), row.word, row.ok)
        elif self.groups.is_judged(*key) and self._takes(*key):
            of_queue = self.queues[key].setdefault(row.queue, GroupQueue())
            add_word(of_queue.consumed, row.word, row.ok)
            add_word(of_queue.twice, row.word, row.twice)
            add_word(of_queue.failed, row.word, row.failed)
            if row.client and row.first_offset is not None:
                owner = QueueOwner(row.client, row.first_offset, row.last_offset, row.first_ms, row.last_ms)
                of_queue.owners.add([owner])

    def _takes(self, group: str, topic: str) -> bool:
        """Return whether the book has a place for a judged group, which it then keeps."""
        if self.groups.must_have_all(group, topic) or len(self.queues) < GROUPS_MAX:
            self.queues.setdefault((group, topic), {})
        return (group, topic) in self.queues

    def silent_groups(self) -> list[str]:
        """Return the requested groups without any report."""
        reporting = {name: None for group, topic in self.queues for name in (group, f"{group}@{topic}")}
        stored = ("", *self._topics())
        return [name for name in self.groups.named or () if name not in reporting and name.partition("@")[2] in stored]

    def _topics(self) -> list[str]:
        """Return the topics in which something should have been consumed."""
        return sorted({topic: None for topic, _ in self.judged})

    def expected(self) -> list[tuple[str, str]]:
        """Return (group, topic) of who should have consumed what."""
        return sorted(dict.fromkeys((*self.queues, *self.groups.pairs(self._topics()))))

    def missing(self, group: str, topic: str) -> Iterator[tuple[str, NumberRange]]:
        """Yield queue and offsets that the group should have consumed: it did not report them, and is not known to have
        passed them.
        """
        for queue, (first, last) in self._without_report(group, topic):
            passed = self._passed(group, topic, queue, first)
            if last >= passed:
                yield queue, (max(first, passed), last)

    def unreported(self, group: str, topic: str) -> Iterator[tuple[str, NumberRange]]:
        """Yield queue and offsets that the group passed without a report: a consumer ended without sending its last
        ones.
        """
        for queue, (first, last) in self._without_report(group, topic):
            passed = self._passed(group, topic, queue, first)
            if first < passed:
                yield queue, (first, min(last, passed - 1))

    def _passed(self, group: str, topic: str, queue: str, unreported: int) -> int:
        """Return the offset before which the group has consumed or skipped everything, as far as that concerns an
        offset that it did not report: its offset at the broker, else where the next owner of the queue began.
        """
        offsets = self.offsets.get((group, topic))
        if offsets is not None:
            return offsets.get(queue, 0)
        _, successor = self.owners(group, topic, queue).around(unreported)
        return 0 if successor is None else successor.first_offset

    def owners(self, group: str, topic: str, queue: str) -> QueueOwners:
        """Return the clients of the group that consumed a queue."""
        of_queue = self.queues.get((group, topic), {}).get(queue)
        return QueueOwners() if of_queue is None else of_queue.owners

    def last_reports(self, group: str) -> dict[str, int]:
        """Return client -> the time of its last report about any queue."""
        last_ms: dict[str, int] = {}
        for (of_group, _), queues in self.queues.items():
            for owner in (owner for queue in queues.values() for owner in queue.owners if of_group == group):
                last_ms[owner.client] = max(owner.last_ms, last_ms.get(owner.client, 0))
        return last_ms

    def _without_report(self, group: str, topic: str) -> Iterator[tuple[str, NumberRange]]:
        """Yield queue and offsets that the group should have consumed and did not report.

        A group that was not requested by name may have started after the first messages: it is judged from the first
        offset that it reported in each queue. A queue without any report counts if the group started with the first
        message everywhere else.
        """
        reported = self.queues.get((group, topic), {})
        must_have_all = self.groups.must_have_all(group, topic) or all(
            (topic, queue) in self.judged and of_queue.first <= self.judged[topic, queue].minimum
            for queue, of_queue in reported.items()
        )
        for (of_topic, queue), judged in sorted(self.judged.items()):
            if of_topic != topic or not judged.count:
                continue
            of_queue = reported.get(queue)
            if of_queue is None and not must_have_all:
                continue
            rest = judged.without(of_queue.consumed) if of_queue is not None else judged
            first = 0 if must_have_all or of_queue is None else of_queue.first
            for from_, to in rest.ranges():
                if to >= first:
                    yield queue, (max(from_, first), to)

    def missing_count(self, group: str, topic: str) -> int:
        """Return how many offsets are missing."""
        return count_of(offsets for _, offsets in self.missing(group, topic))

    def unreported_count(self, group: str, topic: str) -> int:
        """Return how many messages the group passed without a report."""
        return count_of(offsets for _, offsets in self.unreported(group, topic))
