"""One fault, as data: which frames it means, what happens to them, and how often."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum

from engine.faults.errors import FaultRefused
from engine.faults.frame_subject import REPLY, FrameSubject
from engine.protocol.response_code import ResponseCode


class Direction(StrEnum):
    """As the node sees it."""

    IN = "in"
    OUT = "out"


class Deed(StrEnum):
    """What a rule does to a frame."""

    DROP = "drop"
    #: It comes ``ms`` later; others may overtake it.
    DELAY = "delay"
    DUPLICATE = "duplicate"
    #: The node never sees the request; the client is answered ``code``.
    REJECT = "reject"
    #: The frame is lost with its connection.
    CUT = "cut"
    #: One byte of it, drawn from ``seed``, has all its bits turned.
    CORRUPT = "corrupt"
    #: The request is carried out, and its reply comes ``ms`` later.
    ANSWER_LATE = "answer-late"
    #: It waits at the door until a person decides.
    HOLD = "hold"


@dataclass(slots=True, eq=False)
class FaultRule:
    """See the module. Patterns are a whole text, or the beginning of one with ``*`` behind it; empty: any.

    :ivar frame: ``PULL_MESSAGE``, ``reply``, ``reply to PULL_MESSAGE``; empty: any.
    :ivar client: pattern of the client's id, or of its ``ip:port`` while it has not said its id.
    :ivar direction: ``in``, ``out``, or empty for both.
    :ivar code: name of the :class:`ResponseCode` that a rejected request is answered with.
    :ivar times: it acts on so many frames, then it is spent; 0: no end.
    :ivar every: it acts on each so-manieth frame that it means.
    :ivar ratio: it acts on so large a part of these, drawn from ``seed``.
    :ivar for_ms: it is spent so long after it was made; 0: no end.
    :ivar seen: frames that it meant. ``hits``: those that it acted on.

    Raises :class:`FaultRefused` for what does not fit together.
    """

    what: Deed
    frame: str = ""
    direction: str = ""
    client: str = ""
    topic: str = ""
    group: str = ""
    key: str = ""
    ms: int = 1_000
    code: str = ResponseCode.SYSTEM_ERROR.name
    times: int = 0
    every: int = 1
    ratio: float = 1.0
    seed: int = 0
    for_ms: int = 0
    rule_id: int = 0
    made_ms: int = 0
    seen: int = 0
    hits: int = 0
    _chance: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.what = Deed(self.what)
        self._chance = random.Random(self.seed)
        is_of_replies = self.frame.startswith(REPLY)
        if self.what is Deed.REJECT:
            if is_of_replies or self.direction == Direction.OUT:
                raise FaultRefused("refusal.reject_requests_only")
            self.direction = Direction.IN
        if self.what is Deed.ANSWER_LATE:
            if is_of_replies or self.direction == Direction.OUT:
                raise FaultRefused("refusal.late_requests_only")
            self.direction = Direction.OUT
            self.frame = f"{REPLY} to {self.frame}" if self.frame else REPLY

    @property
    def needs_requests(self) -> bool:
        """Whether it must be known what a reply answers."""
        return not self.frame or self.frame.startswith(REPLY)

    def is_spent(self, now_ms: int) -> bool:
        """It will not act any more."""
        return (self.times > 0 and self.hits >= self.times) or (
            self.for_ms > 0 and not 0 <= now_ms - self.made_ms < self.for_ms
        )

    def means(self, subject: FrameSubject, direction: Direction, client: str) -> bool:
        """Whether such a frame is one of those that it waits for."""
        if self.direction and self.direction != direction:
            return False
        if self.what is Deed.REJECT and subject.command.is_response:
            return False
        return (
            self._is_called(subject.name)
            and (not self.client or fits(self.client, client))
            and (not self.topic or any(fits(self.topic, topic) for topic in subject.topics))
            and (not self.group or any(fits(self.group, group) for group in subject.groups))
            and (not self.key or any(fits(self.key, key) for key in subject.keys))
        )

    def _is_called(self, name: str) -> bool:
        """``reply`` means any reply; a request's name means the request, not the reply to it."""
        return self.frame in ("", name) or (self.frame == REPLY and name.startswith(REPLY))

    def takes(self) -> bool:
        """Count a frame that it means; whether it acts on this one."""
        self.seen += 1
        if self.seen % self.every or (self.ratio < 1.0 and self._chance.random() >= self.ratio):
            return False
        self.hits += 1
        return True

    def spoil(self, frame: bytes) -> bytes:
        """``frame`` with one byte turned, behind the four that say how it is to be read."""
        at = 4 + self._chance.randrange(max(1, len(frame) - 4))
        return frame[:at] + bytes([frame[at] ^ 0xFF]) + frame[at + 1 :] if at < len(frame) else frame


def fits(pattern: str, name: str) -> bool:
    """``pattern`` is the whole name, or its beginning with ``*`` behind it."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
