"""The summary of one producer in one queue by one task: small, and sufficient for a verdict over all tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.pipeline.jobs.delivery_audit.packed_numbers import Numbers, pack, set_of, unpack
from engine.protocol.number_set import NumberSet

#: Producer name for messages without a number.
UNNUMBERED = ""


@dataclass(slots=True)
class QueueSegment:
    """A segment of one queue in order; only the messages of one producer count.

    :ivar producer: :data:`UNNUMBERED` for messages without a number; only ``count`` and ``late`` are set then.
    :ivar queue: ``"broker:queue id"``.
    :ivar last_offset: offset of the last message.
    :ivar first_number: the number of the first message.
    :ivar highest: the highest number in it; -1: it has no number.
    :ivar settled: the highest number stored until the moment up to which is judged; -1: no such number.
    :ivar repeated: numbers that occur in it more than once.
    :ivar descending: numbers that come after a higher one.
    :ivar is_sparse: the numbers are so far apart that they were not kept; the three sets are empty then.
    """

    producer: str
    topic: str
    queue: str
    first_offset: int = -1
    last_offset: int = -1
    first_number: int = -1
    count: int = 0
    late: int = 0
    highest: int = -1
    settled: int = -1
    numbers: NumberSet = field(default_factory=NumberSet)
    repeated: NumberSet = field(default_factory=NumberSet)
    descending: NumberSet = field(default_factory=NumberSet)
    is_sparse: bool = False

    def extend(self, offsets: Numbers, numbers: Numbers, is_late: int, is_settled: Numbers) -> None:
        """Add messages that come after those so far.

        :param offsets: ascending.
        :param numbers: of the same messages; all -1 for the unnumbered.
        :param is_late: how many of them are late.
        :param is_settled: the numbers among them that may be judged.
        """
        if self.first_offset < 0:
            self.first_offset, self.first_number = int(offsets[0]), int(numbers[0])
        self.last_offset = int(offsets[-1])
        self.count += len(offsets)
        self.late += is_late
        if self.producer == UNNUMBERED:
            return
        if len(is_settled):
            self.settled = max(self.settled, int(is_settled.max()))
        before = np.maximum.accumulate(np.concatenate((np.array([self.highest]), numbers)))
        self.highest = int(before[-1])
        if self.is_sparse:
            return
        self.descending.update(set_of(numbers[numbers < before[:-1]]))
        distinct, counts = np.unique(numbers, return_counts=True)
        self.repeated.update(set_of(distinct[counts > 1]))
        self.repeated.update(self.numbers.update(set_of(distinct)))
        if self.numbers.is_sparse:
            self.is_sparse = True
            self.numbers, self.repeated, self.descending = NumberSet(), NumberSet(), NumberSet()

    def encode(self) -> dict[str, Any]:
        """Encode the segment for transport: JSON."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: pack(value) if isinstance(value, NumberSet) else value for name, value in fields.items()}

    @classmethod
    def decode(cls, encoded: dict[str, Any]) -> QueueSegment:
        """Decode what :meth:`encode` returned."""
        sets = {name: unpack(encoded[name]) for name in ("numbers", "repeated", "descending")}
        return cls(**{**encoded, **sets})
