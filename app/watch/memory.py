"""What the rules remember from one look to the next: how backlogs moved, and how long something has been as it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

from app.watch.backlogs import Backlogs
from app.watch.facts import Facts

#: How long a growing count is news: dead letters, failures of the store.
NEWS_MS = 600_000
#: Seconds whose latencies count.
LATENCY_SECONDS = 30


class Memory:
    """Fed with one look after the other. Bounded: so many samples each, of what was there at the last look."""

    def __init__(self) -> None:
        self.backlogs = Backlogs()
        #: Key -> (value, since when it has been that).
        self._since: dict[Hashable, tuple[object, int]] = {}
        self._touched: dict[Hashable, None] = {}
        #: Key -> (when a count changed, what it was from then on).
        self._counts: dict[Hashable, deque[tuple[int, int]]] = {}
        self._latencies: deque[int] = deque(maxlen=LATENCY_SECONDS)
        self.now_ms = 0

    def begin(self, facts: Facts) -> None:
        """A look begins."""
        self.now_ms = facts.now_ms
        self.backlogs.take(facts)
        if facts.put_p99_us is not None:
            self._latencies.append(facts.put_p99_us)
        elif self._latencies:  # nothing is stored any more: what was slow is no news for long
            self._latencies.popleft()
        self._touched = {}

    def end(self) -> None:
        """All rules have looked: forget what none of them asked about."""
        self._since = {key: self._since[key] for key in self._touched if key in self._since}
        self._counts = {key: self._counts[key] for key in self._touched if key in self._counts}

    def stays_ms(self, key: Hashable, value: object) -> int:
        """How long ``key`` has had ``value`` at every look, this one included."""
        before, since_ms = self._since.get(key, (None, self.now_ms))
        if before != value or since_ms > self.now_ms:
            since_ms = self.now_ms
        self._since[key] = (value, since_ms)
        self._touched[key] = None
        return self.now_ms - since_ms

    def news(self, key: Hashable, count: int, within_ms: int = NEWS_MS) -> int:
        """By how much a count that only grows has grown lately; what was there at the first look is no news."""
        changes = self._counts.setdefault(key, deque([(self.now_ms, count)]))
        if changes[-1][1] > count:  # it began anew
            changes.clear()
        if not changes or changes[-1][1] != count:
            changes.append((self.now_ms, count))
        while len(changes) > 1 and changes[1][0] <= self.now_ms - within_ms:
            changes.popleft()
        self._touched[key] = None
        return count - changes[0][1]

    @property
    def usual_put_p99_us(self) -> int:
        """The middle one of the last seconds' 99th percentiles: one slow second is no news. 0: too few are known."""
        return sorted(self._latencies)[len(self._latencies) // 2] if len(self._latencies) >= 3 else 0
