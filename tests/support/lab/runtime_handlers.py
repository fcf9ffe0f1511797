"""Frame handlers and frames for tests of the runtime."""

from __future__ import annotations

import asyncio

from engine.runtime.port import Connection


def frame_of(content: bytes) -> bytes:
    """``content`` with its length prefix, as it goes over the wire."""
    return len(content).to_bytes(4, "big") + content


class CollectingHandler:
    """Keeps what it gets; ``changed`` wakes the task that waits for the next thing."""

    #: Set by ``connection_made``.
    connection: Connection

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.lost_reasons: list[str] = []
        self.calls: list[str] = []
        self._changed: asyncio.Future[None] | None = None

    def connection_made(self, connection: Connection) -> None:
        self.calls.append("made")
        self.connection = connection
        self._wake()

    def frame_received(self, frame: bytes) -> None:
        self.calls.append("frame")
        self.frames.append(frame)
        self._wake()

    def connection_lost(self, reason: str) -> None:
        self.calls.append("lost")
        self.lost_reasons.append(reason)
        self._wake()

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def wait_until(self, condition, timeout_s: float = 20.0) -> None:
        """Wait until ``condition(self)`` holds; fails after ``timeout_s``, which no passing test ever takes."""
        async with asyncio.timeout(timeout_s):
            while not condition(self):
                self._changed = asyncio.get_running_loop().create_future()
                await self._changed


class EchoHandler(CollectingHandler):
    """Sends every frame back."""

    def frame_received(self, frame: bytes) -> None:
        super().frame_received(frame)
        self.connection.send_frame(frame_of(frame))
