"""The machine's clock."""

from __future__ import annotations

import time


class LiveClock:
    """The port's ``Clock``."""

    __slots__ = ()

    def now_ms(self) -> int:
        """See the port."""
        return time.time_ns() // 1_000_000

    def monotonic_us(self) -> int:
        """See the port."""
        return time.monotonic_ns() // 1_000
