"""The protection of recently reset offsets from older commits (RocketMQ 4.9 has none).

The members of a group carry out a reset themselves, which takes ten seconds. A commit from before the reset that
arrives after it (from a member that was not yet notified, or over a slow connection) would win, because the last writer
wins. So for :data:`GUARD_MS` after a reset to offset T, members may only commit T and offsets up to what the group has
pulled from T on; other commits are not stored. Clients that are not members of the group may store any offset, which
ends the protection. Pulls from a slave in this time are not known here: their offsets are only accepted when the time
is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from engine.runtime.port import Clock

#: ``MQClientInstance.resetOffset`` waits 10 s before a member stores the new offset; delayed commits may be 20 s late.
GUARD_MS: Final = 30_000
#: The maximum number of protected queues of groups; beyond it the oldest lose their protection.
_QUEUES_MAX: Final = 100_000


class _Key(NamedTuple):
    group: str
    topic: str
    queue_id: int


@dataclass(slots=True)
class _Reset:
    """A reset: ``low`` is the new offset of the group, ``high`` how far it has pulled from there."""

    low: int
    high: int
    until_us: int
    is_taken_up: bool = False


class BrokerOffsetResets:
    """The queues of groups that were reset within the last :data:`GUARD_MS`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._resets: dict[_Key, _Reset] = {}

    def __len__(self) -> int:
        return len(self._resets)

    def begin(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Protect the stored ``offset`` until members have taken it over and older commits have arrived."""
        now_us = self._clock.monotonic_us()
        key = _Key(group, topic, queue_id)
        self._resets.pop(key, None)
        while self._resets:  # in the order of their ends
            oldest = next(iter(self._resets))
            if self._resets[oldest].until_us > now_us and len(self._resets) < _QUEUES_MAX:
                break
            del self._resets[oldest]
        self._resets[key] = _Reset(offset, offset, now_us + GUARD_MS * 1_000)

    def lets_commit(self, group: str, topic: str, queue_id: int, offset: int) -> bool:
        """Return True if a member may store ``offset``; False if the offset is older than the reset."""
        reset = self._find(group, topic, queue_id)
        if reset is None:
            return True
        reset.is_taken_up |= offset == reset.low
        return reset.low <= offset <= reset.high

    def note_pull(self, group: str, topic: str, queue_id: int, begin: int, end: int) -> None:
        """Record that a member has received the messages from ``begin`` to ``end``."""
        reset = self._find(group, topic, queue_id)
        if reset is not None and reset.low <= begin <= reset.high:
            reset.is_taken_up = True
            reset.high = max(reset.high, end)

    def is_awaited(self, group: str, topic: str, queue_id: int) -> bool:
        """Return True if the queue was reset and no member has begun at the new offset yet."""
        reset = self._find(group, topic, queue_id)
        return reset is not None and not reset.is_taken_up

    def end(self, group: str, topic: str, queue_id: int) -> None:
        """End the protection, because another client stores an offset deliberately."""
        self._resets.pop(_Key(group, topic, queue_id), None)

    def end_all(self, group: str, topic: str) -> None:
        """End the protection of all offsets of ``group`` on ``topic``, which were changed or deleted."""
        for key in [key for key in self._resets if key.group == group and key.topic == topic]:
            del self._resets[key]

    def _find(self, group: str, topic: str, queue_id: int) -> _Reset | None:
        if not self._resets:
            return None
        reset = self._resets.get(_Key(group, topic, queue_id))
        return reset if reset is not None and self._clock.monotonic_us() < reset.until_us else None
