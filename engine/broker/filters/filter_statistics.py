"""Statistics of the broker's filters, per subscription. RocketMQ has none: there it is not visible that a consumer
receives nothing because its filter matches nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class FilterCounts:
    """The number of messages that pulls examined. A message that is pulled again counts again."""

    let_through: int = 0
    kept_back: int = 0


class FilterStatistics:
    """The counts of filtering subscriptions: (group, topic) -> counts.

    :param max_entries: bound of the table; further subscriptions are not counted.
    """

    def __init__(self, max_entries: int) -> None:
        self.counts: dict[tuple[str, str], FilterCounts] = {}
        self._max_entries = max_entries

    def record(self, group: str, topic: str, let_through: int, kept_back: int) -> None:
        """Count the messages that a pull examined."""
        counts = self.counts.get((group, topic))
        if counts is None:
            if len(self.counts) >= self._max_entries:
                return
            counts = self.counts[group, topic] = FilterCounts()
        counts.let_through += let_through
        counts.kept_back += kept_back

    def of(self, group: str, topic: str) -> FilterCounts:
        """Return the counts of one subscription; zeros if it has not filtered yet."""
        return self.counts.get((group, topic)) or FilterCounts()
