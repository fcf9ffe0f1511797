"""A limit on guesses of secret keys (RocketMQ has none: guesses are only limited by the speed of its checks).

Ten failed attempts are allowed immediately, then one per second. Attempts over the limit are refused whether right or
wrong; otherwise further guesses would be worthwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

WRONG_AT_ONCE: Final = 10
SECONDS_FOR_ANOTHER: Final = 1.0
#: The maximum number of remembered sources; beyond it, those with the oldest failures are forgotten.
REMEMBERED_MAX: Final = 1_000


class GuessLimit:
    """A limit on failed attempts. Not thread-safe; times are in seconds, of a clock that never goes back."""

    def __init__(self) -> None:
        #: Source -> when all of its failures expire; the latest last.
        self._forgiven_at: OrderedDict[str, float] = OrderedDict()

    def is_slowed(self, who: str, now: float) -> bool:
        """Return whether ``who`` has failed too many times to try now."""
        return self._forgiven_at.get(who, now) - now > (WRONG_AT_ONCE - 1) * SECONDS_FOR_ANOTHER

    def was_wrong(self, who: str, now: float, times: int = 1) -> None:
        """Record a failed attempt of ``who``."""
        self._forgiven_at[who] = max(self._forgiven_at.get(who, now), now) + times * SECONDS_FOR_ANOTHER
        self._forgiven_at.move_to_end(who)
        if len(self._forgiven_at) > REMEMBERED_MAX:
            self._forgiven_at.popitem(last=False)
