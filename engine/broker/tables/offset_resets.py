"""Offsets that an operator has just reset, protected from commits that are older (RocketMQ 4.9: nothing like it).

The members of a group carry a reset out themselves and need ten seconds for it. A commit from before the reset that
arrives after it (of a member that has not heard of it yet, or over a connection that was slow) would win, because the
last writer wins. The broker knows better: after a reset to offset T a group may confirm T and what it has pulled since,
from T on. So for :data:`GUARD_MS` a commit of another offset is not stored. Whoever is no member of the group may store
any offset, and that ends the protection. What a member pulls from a slave in this time is not known here: it is
confirmed when the time is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from engine.runtime.port import Clock

#: ``MQClientInstance.resetOffset`` waits 10 s before a member stores the new offset; what is late may be 20 s late.
GUARD_MS: Final = 30_000
#: Queues of groups that are protected together; beyond it the oldest are not any more.
_QUEUES_MAX: Final = 100_000


class _Key(NamedTuple):
    group: str
    topic: str
    queue_id: int


@dataclass(slots=True)
class _Reset:
    """``low`` is where the group shall begin, ``high`` how far it has pulled from there."""

    low: int
    high: int
    until_us: int
    is_taken_up: bool = False


class OffsetResets:
    """The queues of groups that were reset within the last :data:`GUARD_MS`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._resets: dict[_Key, _Reset] = {}

    def __len__(self) -> int:
        return len(self._resets)

    def begin(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Protect ``offset``, which is stored, until members have taken it up and older commits have arrived."""
        now_us = self._clock.monotonic_us()
        key = _Key(group, topic, queue_id)
        self._resets.pop(key, None)
        while self._resets:  # in the order in which they end
            oldest = next(iter(self._resets))
            if self._resets[oldest].until_us > now_us and len(self._resets) < _QUEUES_MAX:
                break
            del self._resets[oldest]
        self._resets[key] = _Reset(offset, offset, now_us + GUARD_MS * 1_000)

    def lets_commit(self, group: str, topic: str, queue_id: int, offset: int) -> bool:
        """Whether a member may store ``offset``; False for one that is older than the reset."""
        reset = self._find(group, topic, queue_id)
        if reset is None:
            return True
        reset.is_taken_up |= offset == reset.low
        return reset.low <= offset <= reset.high

    def note_pull(self, group: str, topic: str, queue_id: int, begin: int, end: int) -> None:
        """A member has got what is from ``begin`` to ``end``."""
        reset = self._find(group, topic, queue_id)
        if reset is not None and reset.low <= begin <= reset.high:
            reset.is_taken_up = True
            reset.high = max(reset.high, end)

    def is_awaited(self, group: str, topic: str, queue_id: int) -> bool:
        """Whether no member has begun at the new offset yet."""
        reset = self._find(group, topic, queue_id)
        return reset is not None and not reset.is_taken_up

    def end(self, group: str, topic: str, queue_id: int) -> None:
        """Somebody else stores an offset, on purpose."""
        self._resets.pop(_Key(group, topic, queue_id), None)

    def end_all(self, group: str, topic: str) -> None:
        """All offsets of ``group`` on ``topic`` are others now, or gone."""
        for key in [key for key in self._resets if key.group == group and key.topic == topic]:
            del self._resets[key]

    def _find(self, group: str, topic: str, queue_id: int) -> _Reset | None:
        if not self._resets:
            return None
        reset = self._resets.get(_Key(group, topic, queue_id))
        return reset if reset is not None and self._clock.monotonic_us() < reset.until_us else None
