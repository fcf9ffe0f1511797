"""A common bound of the unsent data of all connections of one listener (Netty bounds each channel only:
``WriteBufferWaterMark``).

There are two rules. While a connection has more unsent than its *share*, its requests wait, because it does not read
the replies. The share is a part of the remaining room, so it shrinks for all connections while many do not read, and
the sum stays below the bound by itself. If the sum still exceeds the bound (a first reply is always made, and a
thousand large ones may be made in one moment), connections are *cut*: those that have read nothing since they were last
counted first, the largest of them before the others, and only as many as needed.
"""

from __future__ import annotations

import logging
from typing import Final, Protocol

from engine.runtime.connection_limits import UNSENT_ALL_LIMIT_BYTES, UNSENT_SHARE_MAX_BYTES

_log = logging.getLogger("glassmq.network")

#: A share is this fraction of the remaining room. N connections that do not read hold N / (N + 16) of the bound.
_SHARE_DIVISOR: Final = 16


class CountedConnection(Protocol):
    """The interface of a connection for the budget."""

    @property
    def remote_address(self) -> str: ...

    @property
    def unsent_bytes(self) -> int: ...

    def abort(self, reason: str) -> None:
        """Close immediately; unsent data is lost."""
        ...


class UnsentBudget:
    """A budget that counts connections from when they have much unsent until they have little again."""

    def __init__(self, limit_bytes: int = UNSENT_ALL_LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        #: The sum of the last counts: never less than the current sum.
        self.total_bytes = 0
        #: The largest sum since the last call of :meth:`take_peak`.
        self._peak_bytes = 0
        #: How many connections were cut.
        self.cut_connections = 0
        self._counted: dict[CountedConnection, int] = {}

    @property
    def share_bytes(self) -> int:
        """Return the unsent bytes above which a connection's requests wait."""
        return min(UNSENT_SHARE_MAX_BYTES, (self.limit_bytes - self.total_bytes) // _SHARE_DIVISOR)

    def count(self, connection: CountedConnection) -> None:
        """Count ``connection``, which has something unsent. May cut connections, including this one."""
        unsent_bytes = connection.unsent_bytes
        self.total_bytes += unsent_bytes - self._counted.get(connection, 0)
        self._counted[connection] = unsent_bytes
        self._peak_bytes = max(self._peak_bytes, self.total_bytes)
        if self.total_bytes > self.limit_bytes:
            self._make_room()

    def forget(self, connection: CountedConnection) -> None:
        """Stop counting ``connection``, which has little unsent, or is closed."""
        self.total_bytes -= self._counted.pop(connection, 0)

    def take_peak(self) -> int:
        """Return the largest sum since the last call."""
        peak_bytes, self._peak_bytes = self._peak_bytes, self.total_bytes
        return peak_bytes

    def recount(self) -> list[CountedConnection]:
        """Count all again and return those that have read something since they were last counted."""
        before, self._counted = self._counted, {one: one.unsent_bytes for one in self._counted}
        self.total_bytes = sum(self._counted.values())
        return [one for one, unsent_bytes in self._counted.items() if unsent_bytes < before[one]]

    def _make_room(self) -> None:
        readers = dict.fromkeys(self.recount())
        if self.total_bytes <= self.limit_bytes:
            return
        for connection in sorted(self._counted, key=lambda one: (one in readers, -self._counted[one])):
            self._cut(connection, "too little" if connection in readers else "nothing")
            if self.total_bytes <= self.limit_bytes:
                return

    def _cut(self, connection: CountedConnection, taken: str) -> None:
        _log.warning(
            "%s is disconnected: it reads %s, %d bytes for it are unsent; for all together %d are, allowed: %d",
            connection.remote_address,
            taken,
            self._counted[connection],
            self.total_bytes,
            self.limit_bytes,
        )
        self.cut_connections += 1
        self.forget(connection)
        connection.abort("it does not read, and too much is unsent to all")
