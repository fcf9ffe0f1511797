"""Frames that wait at the door until a person decides what becomes of them.

They wait on a lease: who looks at them renews it, and when nobody does any more, all go on in the order in which they
came. There is room for so many only; when it is full the same happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from engine.faults.door import Door
from engine.faults.errors import FaultRefused
from engine.faults.fault_rule import Direction
from engine.faults.frame_subject import FrameSubject

HELD_FRAMES_MAX = 1_000
HELD_BYTES_MAX = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class HeldFrame:
    """One of them. ``frame`` has no length prefix."""

    held_id: int
    rule_id: int
    door: Door
    client: str
    direction: Direction
    frame: bytes
    subject: FrameSubject
    since_ms: int


class HeldFrames:
    """See the module."""

    def __init__(self) -> None:
        self._frames: dict[int, HeldFrame] = {}
        self._ids = count(1)
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def frames(self) -> tuple[HeldFrame, ...]:
        """In the order in which they came."""
        return tuple(self._frames.values())

    def has_room(self, frame: bytes) -> bool:
        """Whether one more may wait."""
        return len(self._frames) < HELD_FRAMES_MAX and self._bytes + len(frame) <= HELD_BYTES_MAX

    def add(
        self,
        rule_id: int,
        door: Door,
        client: str,
        direction: Direction,
        frame: bytes,
        subject: FrameSubject,
        now_ms: int,
    ) -> None:
        """Let it wait."""
        held = HeldFrame(next(self._ids), rule_id, door, client, direction, frame, subject, now_ms)
        self._frames[held.held_id] = held
        self._bytes += len(frame)

    def take(self, held_id: int) -> HeldFrame:
        """It waits no longer. Raises :class:`FaultRefused`: it has gone on, or was lost with its connection."""
        held = self._frames.pop(held_id, None)
        if held is None:
            raise FaultRefused("refusal.no_held_frame", held_id=held_id)
        self._bytes -= len(held.frame)
        return held

    def pass_all(self) -> int:
        """All go on, oldest first; how many."""
        waiting, self._frames = self._frames, {}
        self._bytes = 0
        for held in waiting.values():
            held.door.pass_on(held.direction, held.frame)
        return len(waiting)

    def lose(self, door: Door) -> None:
        """Its connection is gone."""
        for held in self.frames:
            if held.door is door:
                self.take(held.held_id)
