"""A record of the frames of chosen clients that pass an interceptor: what was sent, when, and with which outcome."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from engine.faults.fault_rule import Direction, FaultAction, FaultRule, fits
from engine.faults.frame_subject import FrameSubject
from engine.faults.state_record import StateRecord

FRAMES_MAX = 2_000
RULES_MAX = 200
BYTES_MAX = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RecordedFrame:
    """A recorded frame.

    :ivar number: from 1 on, counting frames that are no longer kept.
    :ivar at_us: the time since the record began.
    :ivar address: the address of the client's connection.
    :ivar frame: the frame without its length prefix, and without its body if bodies are not recorded.
    :ivar body_bytes: the size of its body.
    :ivar answers: number of the request that a reply answers; 0 for a request, or if the request is unknown.
    :ivar action: the action of a rule on it; None: it passed.
    """

    number: int
    at_us: int
    address: str
    direction: Direction
    frame: bytes
    body_bytes: int
    answers: int
    action: FaultAction | None


class FrameRecord:
    """A bounded record, from which the oldest frames are removed first.

    :param client: pattern of the recorded clients, as in a rule.
    :param with_bodies: False: headers only, because bodies may be confidential.
    :param states: what the node held at each frame; None: it is not recorded.
    :ivar rules: by number, those that acted on a frame.
    """

    def __init__(
        self, client: str, *, with_bodies: bool, started_ms: int, started_us: int, states: StateRecord | None = None
    ) -> None:
        self.client = client
        self.with_bodies = with_bodies
        self.started_ms = started_ms
        self.states = states
        self.rules: dict[int, FaultRule] = {}
        self.count = 0
        #: Address -> id of its client, once it has sent it.
        self.clients: dict[str, str] = {}
        self._started_us = started_us
        self._frames: deque[RecordedFrame] = deque()
        self._bytes = 0
        #: Address and opaque of unanswered requests of either side -> their numbers.
        self._open: dict[tuple[str, Direction, int], int] = {}

    def __iter__(self) -> Iterator[RecordedFrame]:
        return iter(self._frames)

    def note(
        self,
        address: str,
        client: str,
        direction: Direction,
        frame: bytes,
        subject: FrameSubject,
        rule: FaultRule | None,
        now_us: int,
    ) -> None:
        """Record a frame that passes, or that ``rule`` acts on. ``client``: its id, or again its address."""
        if self.client and not fits(self.client, client) and not fits(self.client, address):
            return
        if self.states is not None:
            self.states.note(self.count)
        if rule is not None:
            self.rules[rule.rule_id] = rule
            if len(self.rules) > RULES_MAX:
                del self.rules[next(iter(self.rules))]
        action, command = None if rule is None else rule.what, subject.command
        self.clients[address] = client
        self.count += 1
        answers = 0
        if command.is_response:
            asked = Direction.OUT if direction is Direction.IN else Direction.IN
            answers = self._open.pop((address, asked, command.opaque), 0)
        elif not command.is_oneway:
            self._open[address, direction, command.opaque] = self.count
        kept = frame if self.with_bodies else frame[: len(frame) - len(command.body)]
        at_us, body_bytes = now_us - self._started_us, len(command.body)
        self._frames.append(RecordedFrame(self.count, at_us, address, direction, kept, body_bytes, answers, action))
        self._bytes += len(kept)
        while len(self._frames) > FRAMES_MAX or self._bytes > BYTES_MAX:
            self._bytes -= len(self._frames.popleft().frame)
        if len(self._open) > FRAMES_MAX:
            del self._open[next(iter(self._open))]
        if len(self.clients) > FRAMES_MAX:
            del self.clients[next(iter(self.clients))]
