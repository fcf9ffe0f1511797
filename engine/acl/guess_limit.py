"""How often somebody may be wrong about a secret (ours; RocketMQ lets anybody guess secret keys as fast as it checks
them).

Ten times at once, then once a second. Whoever is slowed hears nothing about what they try meanwhile, be it right or
wrong, or trying on would pay.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

WRONG_AT_ONCE: Final = 10
SECONDS_FOR_ANOTHER: Final = 1.0
#: Who was wrong lately: beyond it, those that were wrong longest ago are forgotten.
REMEMBERED_MAX: Final = 1_000


class GuessLimit:
    """Not thread-safe; times are in seconds, of a clock that never goes back."""

    def __init__(self) -> None:
        #: Who was wrong -> when all of it is forgiven; the latest last.
        self._forgiven_at: OrderedDict[str, float] = OrderedDict()

    def is_slowed(self, who: str, now: float) -> bool:
        """Whether ``who`` has been wrong too often to try now."""
        return self._forgiven_at.get(who, now) - now > (WRONG_AT_ONCE - 1) * SECONDS_FOR_ANOTHER

    def was_wrong(self, who: str, now: float, times: int = 1) -> None:
        """``who`` has tried and was wrong."""
        self._forgiven_at[who] = max(self._forgiven_at.get(who, now), now) + times * SECONDS_FOR_ANOTHER
        self._forgiven_at.move_to_end(who)
        if len(self._forgiven_at) > REMEMBERED_MAX:
            self._forgiven_at.popitem(last=False)
