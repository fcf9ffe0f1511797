"""A budget for compiling new expressions, in words per second, shared among connections (RocketMQ has no bound).

With N other connections that use the budget in this second or used it in the last one, a connection has a share of 1/(N
+ 3) of the words: together they leave two shares, one for a connection that has not used it yet, and room for a long
expression. An expression longer than a share is compiled for a connection that has used nothing lately, as long as an
eighth of the words is left for short ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_SECOND_US: Final = 1_000_000
#: The part of the words that long expressions leave to short ones.
_KEPT_FOR_SHORT: Final = 8


class CompileBudget:
    """The budget of one broker.

    :ivar per_second: words per second, for all connections.
    """

    def __init__(self, per_second: int, monotonic_us: Callable[[], int]) -> None:
        self.per_second = per_second
        self._monotonic_us = monotonic_us
        self._second = 0
        self._spent = 0
        #: Connection -> words, for connections that used the budget in this second and in the one before.
        self._used: dict[str, int] = {}
        self._used_before: dict[str, int] = {}

    def take(self, connection: str, words: int) -> bool:
        """Take ``words`` for ``connection``; False: its share of this second is used up, and nothing is taken."""
        self._begin_second()
        used = self._used.setdefault(connection, 0)
        others = len(self._used.keys() | self._used_before.keys()) - 1
        has_rested = used == 0 == self._used_before.get(connection, 0)
        rest = self.per_second - self._spent
        is_in_share = words <= min(rest, self.per_second // (others + 3) - used)
        if is_in_share or (has_rested and (self._spent == 0 or words <= rest - self.per_second // _KEPT_FOR_SHORT)):
            self._used[connection] = used + words
            self._spent += words
            return True
        return False

    def _begin_second(self) -> None:
        second = self._monotonic_us() // _SECOND_US
        if second != self._second:
            passed, self._second = second - self._second, second
            self._used_before = self._used if passed == 1 else {}
            self._used = {}
            # One expression may have more words than the budget of a second.
            self._spent = max(0, self._spent - passed * self.per_second)
