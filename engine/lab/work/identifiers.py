"""Ids that a machine generates by itself, as applications do ("snowflakes": 41 bits of time, 10 of worker, 12 of
sequence).

The machines do not coordinate, so two unchecked conditions must hold: each worker has a number of its own, and no clock
goes back. If one is broken, two orders get one id, and an idempotent consumer takes the second for the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.runtime.port import Clock

#: 2020-01-01: the time in an id begins here.
EPOCH_MS = 1_577_836_800_000
_WORKER_BITS, _SEQUENCE_BITS = 10, 12
WORKER_MAX = (1 << _WORKER_BITS) - 1
_SEQUENCE_MAX = (1 << _SEQUENCE_BITS) - 1


@dataclass(frozen=True, slots=True)
class IdentifierConfig:
    """Settings of an id generator; they take effect immediately. Raises ``ValueError``.

    :ivar identifier_worker: the number of the machine, 0 to 1023.
    :ivar identifier_waits_for_clock: a clock that went back is waited for. The process must have seen the later time:
        one that was started since has not.
    """

    identifier_worker: int = 0
    identifier_waits_for_clock: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.identifier_worker <= WORKER_MAX:
            raise ValueError(f"identifier_worker {self.identifier_worker} is not allowed; allowed: 0 to {WORKER_MAX}")


class IdentifierMaker:
    """The id generator of one process."""

    def __init__(self, clock: Clock, config: Callable[[], IdentifierConfig]) -> None:
        self._clock = clock
        self._config = config
        self._last_ms = self._sequence = 0

    async def next_id(self) -> int:
        """Return an id greater than all before, as long as the clock does not go back."""
        config = self._config()
        now_ms = self._clock.now_ms()
        if config.identifier_waits_for_clock and now_ms < self._last_ms:
            await asyncio.sleep((self._last_ms - now_ms) / 1_000)
            return await self.next_id()
        self._sequence = self._sequence + 1 if now_ms == self._last_ms else 0
        if self._sequence > _SEQUENCE_MAX:
            # The sequence of one millisecond is used up.
            await asyncio.sleep(0.001)
            return await self.next_id()
        self._last_ms = now_ms
        since_ms = now_ms - EPOCH_MS
        return (since_ms << _WORKER_BITS | config.identifier_worker) << _SEQUENCE_BITS | self._sequence
