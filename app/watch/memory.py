"""The memory of the rules between samples: changes of counts, and the time for which values stayed the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

from app.watch.backlogs import Backlogs
from app.watch.facts import Facts

#: Milliseconds for which the growth of a count is news: dead letters, failures of the store.
NEWS_MS = 600_000
#: Milliseconds for which the latency of a second counts.
LATENCY_MS = 30_000


class Memory:
    """The memory of the rules.

    Bounded: a fixed number of samples per subject, for the subjects of the last sample only.
    """

    def __init__(self) -> None:
        self.backlogs = Backlogs()
        #: Key -> (value, since when it has this value).
        self._since: dict[Hashable, tuple[object, int]] = {}
        self._touched: dict[Hashable, None] = {}
        #: Key -> (when a count changed, its value from then on).
        self._counts: dict[Hashable, deque[tuple[int, int]]] = {}
        #: Second -> the 99th percentile of what was stored in it.
        self._latencies: dict[int, int] = {}
        self._has_looked = False
        self.now_ms = 0

    def begin(self, facts: Facts) -> None:
        """Begin a sample."""
        self.now_ms = facts.now_ms
        self.backlogs.take(facts)
        known = self._latencies.items()
        self._latencies = {at_ms: p99_us for at_ms, p99_us in known if 0 <= self.now_ms - at_ms < LATENCY_MS}
        if facts.put_p99_us is not None:
            self._latencies[self.now_ms] = facts.put_p99_us
        self._touched = {}

    def end(self) -> None:
        """End a sample: forget what no rule asked about."""
        self._since = {key: self._since[key] for key in self._touched if key in self._since}
        self._counts = {key: self._counts[key] for key in self._touched if key in self._counts}
        self._has_looked = True

    def stays_ms(self, key: Hashable, value: object) -> int:
        """Return how long ``key`` has had ``value`` at every sample, this one included."""
        before, since_ms = self._since.get(key, (None, self.now_ms))
        if before != value or since_ms > self.now_ms:
            since_ms = self.now_ms
        self._since[key] = (value, since_ms)
        self._touched[key] = None
        return self.now_ms - since_ms

    def news(self, key: Hashable, count: int, within_ms: int = NEWS_MS, *, is_stored: bool = False) -> int:
        """Return by how much a count that only grows has grown lately.

        A count begins at 0, also one that first appears later: it has grown since the sample before.

        :param is_stored: it outlives the process. What the very first sample finds is then not news, nor is what
        remains of a truncated log. Any other count that is lower than before began again at 0.
        """
        before = self._counts.get(key)
        if before is None:
            before = deque([(self.now_ms, count if is_stored and not self._has_looked else 0)])
        elif before[-1][1] > count:
            before = deque([(self.now_ms, count if is_stored else 0)])
        if before[-1][1] != count:
            before.append((self.now_ms, count))
        while len(before) > 1 and before[1][0] <= self.now_ms - within_ms:
            before.popleft()
        self._counts[key] = before
        self._touched[key] = None
        return count - before[0][1]

    @property
    def usual_put_p99_us(self) -> int:
        """Return the median of the last seconds' 99th percentiles: one slow second is not news. 0 when too few are
        known.
        """
        known = sorted(self._latencies.values())
        return known[len(known) // 2] if len(known) >= 3 else 0
