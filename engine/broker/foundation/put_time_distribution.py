"""The distribution of send durations, in RocketMQ's classes (RocketMQ:
``StoreStatsService.putMessageDistributeTime``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

#: The names of the classes; the first one is for sends that took less than a millisecond.
CLASSES = (
    "[<=0ms]",
    "[0~10ms]",
    "[10~50ms]",
    "[50~100ms]",
    "[100~200ms]",
    "[200~500ms]",
    "[500ms~1s]",
    "[1~2s]",
    "[2~3s]",
    "[3~4s]",
    "[4~5s]",
    "[5~10s]",
    "[10s~]",
)
#: The upper bound of each class but the last.
_ENDS_US = tuple(1_000 * ms for ms in (1, 10, 50, 100, 200, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 10_000))


class PutTimeDistribution:
    """The counts of the current minute and of the last full one, which is the one that is reported."""

    def __init__(self) -> None:
        self._minute = 0
        self._counts = [0] * len(CLASSES)
        self._last_counts = [0] * len(CLASSES)

    def add(self, second: int, times_us: Mapping[int, int]) -> None:
        """Add the sends of ``second``, given as a map from duration (microseconds) to number of sends."""
        self._advance(second)
        for time_us, count in times_us.items():
            self._counts[bisect_right(_ENDS_US, time_us)] += count

    def last_minute(self, second: int) -> str:
        """Return the last full minute before ``second`` as RocketMQ prints it: ``"[<=0ms]:17 [0~10ms]:2 ..."``."""
        self._advance(second)
        return " ".join(f"{name}:{count}" for name, count in zip(CLASSES, self._last_counts, strict=True))

    def _advance(self, second: int) -> None:
        minute = second // 60
        if minute != self._minute:
            self._last_counts = self._counts if minute == self._minute + 1 else [0] * len(CLASSES)
            self._counts = [0] * len(CLASSES)
            self._minute = minute
