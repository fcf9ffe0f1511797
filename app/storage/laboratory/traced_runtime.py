"""A live node on real files that reports every access, and whose clock is that of the traffic."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.storage.laboratory.traffic import FIRST_MS
from engine.runtime.live.live_runtime import LiveRuntime
from engine.runtime.port import Network, NodeIdentity
from engine.runtime.traced_disk import DiskAccess, TracedDisk


class TrafficClock:
    """Shows the time of the message that is being sent, so that the same traffic gives the same files.

    :ivar time_ms: since 1970.
    """

    def __init__(self) -> None:
        self.time_ms = FIRST_MS

    def now_ms(self) -> int:
        return self.time_ms

    def monotonic_us(self) -> int:
        return self.time_ms * 1_000


class TracedRuntime:
    """A ``Runtime`` on top of a live one.

    :param report: called with every access; without it they are kept.
    :ivar folder: where its files are.
    :ivar accesses: accesses since it was last emptied, in order.
    """

    def __init__(self, node_name: str, folder: Path, report: Callable[[DiskAccess], None] | None = None) -> None:
        self.folder = folder
        self._live = LiveRuntime(node_name, folder)
        self.accesses: list[DiskAccess] = []
        self.node_name = node_name
        self.identity: NodeIdentity = self._live.identity
        self.clock = TrafficClock()
        self.network: Network = self._live.network
        self.process_names = self._live.process_names
        self.disk = TracedDisk(self._live.disk, report or self.accesses.append)

    def random_for(self, purpose: str) -> random.Random:
        return self._live.random_for(purpose)

    async def call_listener(self, listener: Callable[..., Any], *arguments: Any) -> Any:
        return await self._live.call_listener(listener, *arguments)

    def close(self) -> None:
        """End the threads of the disk."""
        self._live.disk.close()
