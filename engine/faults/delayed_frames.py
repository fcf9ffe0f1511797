"""Delayed frames: each waits for its own time, within a bound of frames and of bytes."""

from __future__ import annotations

import asyncio

from engine.faults.fault_rule import Direction
from engine.faults.frame_interceptor import FrameInterceptor

#: Bounds of the delayed frames. Beyond either, frames pass immediately.
DELAYED_MAX = 10_000
DELAYED_BYTES_MAX = 32 * 1024 * 1024


class DelayedFrames:
    """The delayed frames of a node."""

    def __init__(self) -> None:
        self._frames: dict[int, tuple[asyncio.TimerHandle, FrameInterceptor, Direction, bytes]] = {}
        self._last_number = 0
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, ms: int, interceptor: FrameInterceptor, direction: Direction, frame: bytes) -> None:
        """Let a frame pass after ``ms``; immediately if there is no room."""
        if len(self._frames) >= DELAYED_MAX or self._bytes + len(frame) > DELAYED_BYTES_MAX:
            return interceptor.pass_on(direction, frame)
        self._last_number += 1
        number = self._last_number
        timer = asyncio.get_running_loop().call_later(ms / 1_000, self._go_on, number)
        self._frames[number] = timer, interceptor, direction, frame
        self._bytes += len(frame)

    def _go_on(self, number: int) -> None:
        interceptor, direction, frame = self._take(number)
        interceptor.pass_on(direction, frame)

    def _take(self, number: int) -> tuple[FrameInterceptor, Direction, bytes]:
        timer, interceptor, direction, frame = self._frames.pop(number)
        timer.cancel()
        self._bytes -= len(frame)
        return interceptor, direction, frame

    def pass_all(self) -> None:
        """Let all frames pass, oldest first."""
        for number in tuple(self._frames):
            if number in self._frames:  # a frame that passed before may have ended its connection
                self._go_on(number)

    def lose(self, interceptor: FrameInterceptor) -> None:
        """Discard the frames of a closed connection."""
        for number in [number for number, frame in self._frames.items() if frame[1] is interceptor]:
            self._take(number)
