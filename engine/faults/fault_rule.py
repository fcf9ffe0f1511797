"""One fault rule, as data: the frames that it matches, what happens to them, and how often."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum

from engine.faults.errors import FaultRefused
from engine.faults.frame_subject import REPLY, FrameSubject
from engine.fields.field import Field
from engine.protocol.response_code import ResponseCode


class Direction(StrEnum):
    """The direction of a frame, as the node sees it."""

    IN = "in"
    OUT = "out"


class FaultAction(StrEnum):
    """The action of a rule on a frame."""

    DROP = "drop"
    #: It arrives ``ms`` later; others may overtake it.
    DELAY = "delay"
    DUPLICATE = "duplicate"
    #: The node never receives the request; the client is answered ``code``.
    REJECT = "reject"
    #: The frame is lost and its connection is closed.
    CUT = "cut"
    #: All bits of one byte, chosen by ``seed``, are flipped.
    CORRUPT = "corrupt"
    #: The request is carried out, and its reply is sent ``ms`` later.
    ANSWER_LATE = "answer-late"
    #: It is held until a person decides.
    HOLD = "hold"


#: No fault needs to last longer than a day.
MS_MAX = 86_400_000
#: The longest name of a group.
_TEXT_MAX = 255
#: What may be said of the frames of a rule, besides their name, and of its action.
RULE_FIELDS = (
    Field("direction", "choice", default="", allowed=("", *(direction.value for direction in Direction))),
    *(Field(name, "pattern", 0, _TEXT_MAX, default="") for name in ("client", "topic", "group", "key")),
    Field("ms", "integer", 1, MS_MAX, default=1_000),
    Field("code", "choice", default=ResponseCode.SYSTEM_ERROR.name, allowed=tuple(code.name for code in ResponseCode)),
    Field("times", "integer", 0, 1_000_000, default=0),
    Field("every", "integer", 1, 1_000_000, default=1),
    Field("ratio", "number", 0, 1, default=1.0),
    Field("seed", "integer", 0, 1 << 53, default=0),
    Field("for_ms", "integer", 0, MS_MAX, default=0),
)


@dataclass(slots=True, eq=False)
class FaultRule:
    """A fault rule. Patterns are an exact text, or a prefix followed by ``*``; empty: any.

    :ivar frame: ``PULL_MESSAGE``, ``reply``, ``reply to PULL_MESSAGE``; empty: any.
    :ivar client: pattern of the client's id, or of its ``ip:port`` until it has sent its id.
    :ivar direction: ``in``, ``out``, or empty for both.
    :ivar code: name of the :class:`ResponseCode` in the reply to a rejected request.
    :ivar times: the number of frames that it acts on; then it is spent; 0: no limit.
    :ivar every: it acts on every Nth matching frame.
    :ivar ratio: the share of these that it acts on, chosen by ``seed``.
    :ivar for_ms: how long after its creation it is spent; 0: no limit.
    :ivar seen: matching frames. ``hits``: those that it acted on.

    Raises :class:`FaultRefused` for contradictory values.
    """

    what: FaultAction
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
        self.what = FaultAction(self.what)
        self._chance = random.Random(self.seed)
        is_of_replies = self.frame.startswith(REPLY)
        if self.what is FaultAction.REJECT:
            if is_of_replies or self.direction == Direction.OUT:
                raise FaultRefused("refusal.reject_requests_only")
            self.direction = Direction.IN
        if self.what is FaultAction.ANSWER_LATE:
            if is_of_replies or self.direction == Direction.OUT:
                raise FaultRefused("refusal.late_requests_only")
            self.direction = Direction.OUT
            self.frame = f"{REPLY} to {self.frame}" if self.frame else REPLY

    @property
    def needs_requests(self) -> bool:
        """Return whether the request of a reply must be known."""
        return not self.frame or self.frame.startswith(REPLY)

    def is_spent(self, now_ms: int) -> bool:
        """Return whether the rule will not act any more."""
        return (self.times > 0 and self.hits >= self.times) or (
            self.for_ms > 0 and not 0 <= now_ms - self.made_ms < self.for_ms
        )

    def means(self, subject: FrameSubject, direction: Direction, client: str) -> bool:
        """Return whether such a frame matches."""
        if self.direction and self.direction != direction:
            return False
        if self.what is FaultAction.REJECT and subject.command.is_response:
            return False
        return (
            self._is_called(subject.name)
            and (not self.client or fits(self.client, client))
            and (not self.topic or any(fits(self.topic, topic) for topic in subject.topics))
            and (not self.group or any(fits(self.group, group) for group in subject.groups))
            and (not self.key or any(fits(self.key, key) for key in subject.keys))
        )

    def _is_called(self, name: str) -> bool:
        """Return whether a name matches: ``reply`` is any reply; a request's name is the request, not the reply
        to it.
        """
        return self.frame in ("", name) or (self.frame == REPLY and name.startswith(REPLY))

    def takes(self) -> bool:
        """Count a matching frame; return whether the rule acts on it."""
        self.seen += 1
        if self.seen % self.every or (self.ratio < 1.0 and self._chance.random() >= self.ratio):
            return False
        self.hits += 1
        return True

    def spoil(self, frame: bytes) -> bytes:
        """Return ``frame`` with one byte flipped, after the first four, which describe its encoding."""
        at = 4 + self._chance.randrange(max(1, len(frame) - 4))
        return frame[:at] + bytes([frame[at] ^ 0xFF]) + frame[at + 1 :] if at < len(frame) else frame


def fits(pattern: str, name: str) -> bool:
    """Return whether ``pattern`` is the exact name, or a prefix of it followed by ``*``."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
