"""What all connections of one listener have not sent yet, under one bound (Netty bounds each channel only:
``WriteBufferWaterMark``).

Two rules. While a connection has more unsent than its *share*, its requests wait: they ask for what it does not read.
The share is a part of the room that is left, so it shrinks for everybody while many do not read, and the sum stays
below the bound by itself. What the rule does not reach (a first reply is always made, and a thousand large ones may be
made in one moment) is *cut*: those that have taken nothing since they were last counted first, the largest of them
before the others, and only as many as it needs.
"""

from __future__ import annotations

import logging
from typing import Final, Protocol

from engine.runtime.connection_limits import UNSENT_ALL_LIMIT_BYTES, UNSENT_SHARE_MAX_BYTES

_log = logging.getLogger("glassmq.network")

#: A share is this part of what is left. With N connections that do not read they hold N / (N + 16) of the bound.
_SHARE_DIVISOR: Final = 16


class CountedConnection(Protocol):
    """A connection as the budget sees it."""

    @property
    def remote_address(self) -> str: ...

    @property
    def unsent_bytes(self) -> int: ...

    def abort(self, reason: str) -> None:
        """Close at once; what is unsent is lost."""
        ...


class UnsentBudget:
    """Counts connections from when they have much unsent until they have little again."""

    def __init__(self, limit_bytes: int = UNSENT_ALL_LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        #: The sum when each was last counted: never less than it is now.
        self.total_bytes = 0
        #: The largest sum since the last call of :meth:`take_peak`.
        self._peak_bytes = 0
        #: How many connections had to be cut.
        self.cut_connections = 0
        self._counted: dict[CountedConnection, int] = {}

    @property
    def share_bytes(self) -> int:
        """With more unsent than this a connection's requests wait."""
        return min(UNSENT_SHARE_MAX_BYTES, (self.limit_bytes - self.total_bytes) // _SHARE_DIVISOR)

    def count(self, connection: CountedConnection) -> None:
        """``connection`` has something unsent. May cut connections, this one too."""
        unsent_bytes = connection.unsent_bytes
        self.total_bytes += unsent_bytes - self._counted.get(connection, 0)
        self._counted[connection] = unsent_bytes
        self._peak_bytes = max(self._peak_bytes, self.total_bytes)
        if self.total_bytes > self.limit_bytes:
            self._make_room()

    def forget(self, connection: CountedConnection) -> None:
        """``connection`` has nothing unsent to speak of, or is gone."""
        self.total_bytes -= self._counted.pop(connection, 0)

    def take_peak(self) -> int:
        """The largest sum since this was asked last."""
        peak_bytes, self._peak_bytes = self._peak_bytes, self.total_bytes
        return peak_bytes

    def recount(self) -> list[CountedConnection]:
        """Count all again; those that have taken something since they were last counted."""
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
