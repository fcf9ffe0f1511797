"""The trend of each group's backlog, in a topic and in all of them, over the last half minute.

A group commits every few seconds, so that its backlog is a sawtooth: one sample shows nothing, and neither does a
straight line through a burst. It grows when each ten seconds had a higher minimum and a higher maximum than those
before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from app.watch.facts import Facts, GroupFacts

if TYPE_CHECKING:
    from app.picture.health import BacklogOutlook, BacklogOutlooks

#: The period of a trend, and the length of the samples from which one is computed: three parts with a commit in each.
WINDOW_MS = 30_000
LEAST_MS = 15_000
#: What a group reads in this time is in progress: it commits a few seconds late.
ON_ITS_WAY_MS = 10_000
#: A backlog that changes by less than this share of itself in a minute is standing.
STILL_SHARE = 0.02
#: Stands for all topics of the group.
ALL = ""


class BacklogTrend(StrEnum):
    """The kind of a trend. ``UNREAD`` grows and ``STANDING`` does not, and nothing of either is read."""

    UNKNOWN = "unknown"
    KEEPS_UP = "keeps_up"
    GONE = "gone"
    STEADY = "steady"
    GROWING = "growing"
    UNREAD = "unread"
    STANDING = "standing"


@dataclass(frozen=True, slots=True)
class Trend:
    """The trend of a backlog.

    :ivar per_s: messages per second by which it grows; negative when it shrinks.
    :ivar left_ms: for ``GONE``, the time until nothing is left.
    """

    kind: BacklogTrend
    per_s: float = 0.0
    left_ms: int = 0


class _Look(NamedTuple):
    """The sums over a group's queues at one moment: their ends, and the group's offsets."""

    at_ms: int
    stored: int
    read: int

    @property
    def lag(self) -> int:
        return self.stored - self.read


class Backlogs:
    """The recent samples of each backlog. A bounded number is kept, of the backlogs in the last sample only."""

    def __init__(self) -> None:
        self._looks: dict[tuple[str, str], deque[_Look]] = {}

    def take(self, facts: Facts) -> None:
        """Add a sample."""
        before, self._looks = self._looks, {}
        for name, group in facts.groups.items():
            for topic, (stored, read) in _sums(group).items():
                looks = self._looks[name, topic] = before.get((name, topic)) or deque()
                _add(looks, _Look(facts.now_ms, stored, read))

    def trend(self, group: str, topic: str = ALL) -> Trend:
        """Return the trend of what ``group`` has not read."""
        return _trend(self._looks.get((group, topic)))

    def as_json(self) -> BacklogOutlooks:
        """Return group -> topic (:data:`ALL` for all) -> ``kind`` and, for ``gone``, ``left_us``, for backlogs that are
        not empty.
        """
        reported: BacklogOutlooks = {}
        for (group, topic), looks in self._looks.items():
            if looks[-1].lag > 0:
                trend = _trend(looks)
                outlook: BacklogOutlook = {"kind": str(trend.kind)}
                if trend.kind is BacklogTrend.GONE:
                    outlook["left_us"] = _coarse(trend.left_ms) * 1_000
                reported.setdefault(group, {})[topic] = outlook
        return reported


def _sums(group: GroupFacts) -> Mapping[str, tuple[int, int]]:
    sums = {ALL: (0, 0)}
    for queue, progress in group.queues.items():
        for topic in (ALL, queue.topic):
            stored, read = sums.get(topic, (0, 0))
            sums[topic] = (stored + progress.committed + progress.behind, read + progress.committed)
    return sums


def _add(looks: deque[_Look], look: _Look) -> None:
    if looks:
        last = looks[-1]
        # A clock or offsets that went back; or an empty backlog without new messages: many groups are like that for
        # days.
        went_back = look.at_ms < last.at_ms or look.stored < last.stored or look.read < last.read
        if went_back or (look.lag == 0 and look.stored == last.stored):
            looks.clear()
        elif look.at_ms == last.at_ms:
            looks.pop()
    looks.append(look)
    while looks[0].at_ms < look.at_ms - WINDOW_MS:
        looks.popleft()


def _trend(looks: deque[_Look] | None) -> Trend:
    if looks is None or len(looks) < 3 or looks[-1].at_ms - looks[0].at_ms < LEAST_MS:
        return Trend(BacklogTrend.UNKNOWN)
    first, last = looks[0], looks[-1]
    passed_ms, read = last.at_ms - first.at_ms, last.read - first.read
    if 0 < last.lag * passed_ms <= read * ON_ITS_WAY_MS:
        return Trend(BacklogTrend.KEEPS_UP)
    per_s = _growth(list(_parts(looks)))
    if abs(per_s) * 60 < max(1.0, STILL_SHARE * last.lag):
        per_s = 0.0
    if per_s > 0:
        return Trend(BacklogTrend.GROWING if read else BacklogTrend.UNREAD, per_s)
    if per_s < 0:
        return Trend(BacklogTrend.GONE, per_s, round(1_000 * last.lag / -per_s))
    return Trend(BacklogTrend.STEADY if read else BacklogTrend.STANDING)


def _parts(looks: deque[_Look]) -> Iterator[list[_Look]]:
    """Yield three parts of equal time. A late sample may leave one empty."""
    first_ms, passed_ms = looks[0].at_ms, looks[-1].at_ms - looks[0].at_ms
    for part in range(3):
        yield [look for look in looks if min(2, 3 * (look.at_ms - first_ms) // passed_ms) == part]


def _growth(parts: list[list[_Look]]) -> float:
    """Return messages a second between the first part and the last; 0 when the parts do not all go one way."""
    if not all(parts):
        return 0.0
    (low, high), *others = [(min(look.lag for look in part), max(look.lag for look in part)) for part in parts]
    ways = []
    for next_low, next_high in others:
        ways.append((next_low > low and next_high > high) - (next_low < low and next_high < high))
        low, high = next_low, next_high
    if abs(sum(ways)) < len(ways):
        return 0.0
    (then_ms, then), (now_ms, now) = [
        (_mean([look.at_ms for look in part]), _mean([look.lag for look in part])) for part in (parts[0], parts[-1])
    ]
    return 1_000 * (now - then) / (now_ms - then_ms)


def _mean(numbers: list[int]) -> float:
    """Return the mean. ``statistics.fmean`` would import fractions and decimals at every start of a broker."""
    return sum(numbers) / len(numbers)


def _coarse(milliseconds: int) -> int:
    """Round to steps that do not change with every sample."""
    step = 1_000 if milliseconds < 20_000 else 5_000
    return max(step, round(milliseconds / step) * step)
