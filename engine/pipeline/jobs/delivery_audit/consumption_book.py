"""The driver's state about consumption: the consumed offsets per group and queue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from engine.pipeline.jobs.delivery_audit.judged_groups import JudgedGroups
from engine.pipeline.jobs.delivery_audit.packed_numbers import pack, unpack
from engine.pipeline.jobs.delivery_audit.queue_owners import QueueOwners
from engine.pipeline.jobs.latency_histogram import LatencyHistogram
from engine.protocol.number_ranges import NumberRange, count_of
from engine.protocol.number_set import NumberSet

#: Most acknowledged messages that are not stored and are listed individually.
SAMPLES_MAX = 500


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


class ConsumptionBook:
    """A book that grows with the facts of every join.

    :param groups: the groups that are judged. Reports of others are not kept.
    :ivar judged: (topic, queue) -> offsets that should have been consumed.
    :ivar queues: (group, topic) -> queue -> what it reported.
    """

    def __init__(self, groups: JudgedGroups) -> None:
        self.groups = groups
        self.judged: dict[tuple[str, str], NumberSet] = {}
        self.queues: dict[tuple[str, str], dict[str, GroupQueue]] = {}
        #: (group, topic) -> queue -> the group's offset at its broker, if that was asked.
        self.offsets: dict[tuple[str, str], dict[str, int]] = {}
        self.latency: dict[tuple[str, str], LatencyHistogram] = {}
        self.not_stored: dict[str, int] = {}
        self.samples: list[NotStored] = []
        #: Records in the last join about messages that are not among those read.
        self.unmatched = 0
        self.unreadable = 0

    def add(self, facts_of_tasks: list[str]) -> None:
        """Add the facts of one join."""
        self.unmatched = 0
        for text in facts_of_tasks:
            facts = json.loads(text)
            for topic, queue, offsets in facts["judged"]:
                self.judged.setdefault((topic, queue), NumberSet()).update(unpack(offsets))
            for of_group in facts["groups"]:
                self._add_group(of_group)
            for topic, count, samples in facts["not_stored"]:
                self.not_stored[topic] = self.not_stored.get(topic, 0) + count
                self.samples += [NotStored(topic, *sample) for sample in samples]
            self.unmatched += facts["unmatched"]
            self.unreadable += facts["unreadable"]
        self.samples = self.samples[:SAMPLES_MAX]

    def _add_group(self, facts: dict[str, Any]) -> None:
        key = (facts["group"], facts["topic"])
        if not self.groups.is_judged(*key):
            return
        queue = self.queues.setdefault(key, {}).setdefault(facts["queue"], GroupQueue())
        queue.consumed.update(unpack(facts["consumed"]))
        queue.twice.update(unpack(facts["twice"]))
        queue.failed.update(unpack(facts["failed"]))
        # Books that were saved before there were owners have none.
        queue.owners.add(QueueOwners.decode(facts.get("owners", ())))
        self.latency.setdefault(key, LatencyHistogram()).update(LatencyHistogram.decode(facts["latency"]))

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

    def encode(self) -> dict[str, Any]:
        """Encode the book as it is saved: JSON."""
        groups = []
        for (group, topic), queues in self.queues.items():
            latency = self.latency[group, topic].encode()
            for queue, of_queue in queues.items():
                sets = {name: pack(getattr(of_queue, name)) for name in ("consumed", "twice", "failed")}
                owners = of_queue.owners.encode()
                groups.append(
                    {"group": group, "topic": topic, "queue": queue, "latency": latency, "owners": owners, **sets}
                )
                latency = LatencyHistogram().encode()
        not_stored = [
            [
                topic,
                count,
                [[one.unique_id, one.producer_group, one.at_ms] for one in self.samples if one.topic == topic],
            ]
            for topic, count in self.not_stored.items()
        ]
        return {
            "judged": [[*key, pack(numbers)] for key, numbers in self.judged.items()],
            "groups": groups,
            "not_stored": not_stored,
            "unmatched": self.unmatched,
            "unreadable": self.unreadable,
        }

    @classmethod
    def decode(cls, encoded: dict[str, Any], groups: JudgedGroups) -> ConsumptionBook:
        """Decode what :meth:`encode` returned, which has the same form as the facts of a task."""
        made = cls(groups)
        made.add([json.dumps(encoded)])
        return made
