"""Held frames: stopped by a fault rule until an operator passes or drops them.

They wait on a lease: viewing them renews it, and when it expires, all pass in their order of arrival. Their number is
bounded; when the limit is reached, all pass, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from engine.faults.errors import FaultRefused
from engine.faults.fault_rule import Direction
from engine.faults.frame_interceptor import FrameInterceptor
from engine.faults.frame_subject import FrameSubject

HELD_FRAMES_MAX = 1_000
HELD_BYTES_MAX = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class HeldFrame:
    """A held frame. ``frame`` has no length prefix."""

    held_id: int
    rule_id: int
    interceptor: FrameInterceptor
    client: str
    direction: Direction
    frame: bytes
    subject: FrameSubject
    since_ms: int


class HeldFrames:
    """The held frames of a node."""

    def __init__(self) -> None:
        self._frames: dict[int, HeldFrame] = {}
        self._ids = count(1)
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def frames(self) -> tuple[HeldFrame, ...]:
        """Return the frames in their order of arrival."""
        return tuple(self._frames.values())

    def has_room(self, frame: bytes) -> bool:
        """Return whether one more may wait."""
        return len(self._frames) < HELD_FRAMES_MAX and self._bytes + len(frame) <= HELD_BYTES_MAX

    def add(
        self,
        rule_id: int,
        interceptor: FrameInterceptor,
        client: str,
        direction: Direction,
        frame: bytes,
        subject: FrameSubject,
        now_ms: int,
    ) -> None:
        """Hold a frame."""
        held = HeldFrame(next(self._ids), rule_id, interceptor, client, direction, frame, subject, now_ms)
        self._frames[held.held_id] = held
        self._bytes += len(frame)

    def take(self, held_id: int) -> HeldFrame:
        """Remove a held frame. Raises :class:`FaultRefused` if it has passed, or was lost with its connection."""
        held = self._frames.pop(held_id, None)
        if held is None:
            raise FaultRefused("refusal.no_held_frame", held_id=held_id)
        self._bytes -= len(held.frame)
        return held

    def pass_all(self) -> int:
        """Let all frames pass, oldest first; return how many."""
        waiting, self._frames = self._frames, {}
        self._bytes = 0
        for held in waiting.values():
            held.interceptor.pass_on(held.direction, held.frame)
        return len(waiting)

    def lose(self, interceptor: FrameInterceptor) -> None:
        """Discard the frames of a closed connection."""
        for held in self.frames:
            if held.interceptor is interceptor:
                self.take(held.held_id)
