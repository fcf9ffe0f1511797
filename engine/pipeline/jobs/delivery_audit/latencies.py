"""Distributions of durations, counted by Spark: exact to the millisecond below 1,024 ms, within 0.2 % above."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

_BITS = "length(bin(latency_ms))"
#: ``latency_ms`` as it is counted: negative durations (two clocks that differ) as 0, long ones by their leading bits.
ROUNDED_LATENCY = f"""
    CASE WHEN latency_ms < 1024 THEN greatest(latency_ms, 0L)
         ELSE shiftleft(shiftright(latency_ms, {_BITS} - 10), {_BITS} - 10)
    END AS rounded_ms
"""


@dataclass(slots=True)
class Latencies:
    """How many messages took how long.

    :ivar counts: rounded duration -> how many.
    """

    counts: dict[int, int] = field(default_factory=dict)
    longest: int = 0

    def add(self, rounded_ms: int, count: int, longest: int) -> None:
        """Add ``count`` durations that are rounded alike; ``longest`` is the longest of them."""
        self.counts[rounded_ms] = self.counts.get(rounded_ms, 0) + count
        self.longest = max(self.longest, longest)

    def update(self, other: Latencies) -> None:
        """Add what ``other`` has counted."""
        for rounded_ms, count in other.counts.items():
            self.add(rounded_ms, count, other.longest)

    @property
    def count(self) -> int:
        """Return the number of durations."""
        return sum(self.counts.values())

    def percentiles(self, shares: Iterable[float]) -> list[int]:
        """Return for each of ``shares`` (0.5: half of them) the duration that this share does not exceed, by nearest
        rank; 0 if there are no durations.
        """
        found: list[int] = []
        count, seen, reached, durations = self.count, 0, 0, iter(sorted(self.counts.items()))
        for share in sorted(shares):
            rank = max(1, math.ceil(share * count - 1e-9))
            while seen < rank and (step := next(durations, None)) is not None:
                reached, seen = step[0], seen + step[1]
            found.append(min(reached, self.longest))
        return found
