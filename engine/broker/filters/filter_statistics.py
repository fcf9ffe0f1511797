"""What the broker's filters did, per subscription. RocketMQ does not count it: that a consumer sees nothing because its
filter keeps everything back cannot be seen there.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class FilterCounts:
    """Messages that pulls looked at. A message that is pulled again counts again."""

    let_through: int = 0
    kept_back: int = 0


class FilterStatistics:
    """(group, topic) -> counts, of subscriptions that do filter.

    :param max_entries: bound of the table; further subscriptions are not counted.
    """

    def __init__(self, max_entries: int) -> None:
        self.counts: dict[tuple[str, str], FilterCounts] = {}
        self._max_entries = max_entries

    def record(self, group: str, topic: str, let_through: int, kept_back: int) -> None:
        """A pull looked at so many messages."""
        counts = self.counts.get((group, topic))
        if counts is None:
            if len(self.counts) >= self._max_entries:
                return
            counts = self.counts[group, topic] = FilterCounts()
        counts.let_through += let_through
        counts.kept_back += kept_back

    def of(self, group: str, topic: str) -> FilterCounts:
        """The counts of one subscription; zeros when it has not filtered yet."""
        return self.counts.get((group, topic)) or FilterCounts()
