"""The fault rules of one node, and their application to the frames that pass its interceptors.

The same injector works for a live broker and for one in the lab: it needs a clock, and a lookup of client ids.
Everything here runs within the call that delivers the frame, or in a timer of the node's loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engine.faults.delayed_frames import DelayedFrames
from engine.faults.errors import FaultRefused
from engine.faults.fault_rule import Direction, FaultAction, FaultRule
from engine.faults.frame_interceptor import FrameInterceptor
from engine.faults.frame_record import FrameRecord
from engine.faults.frame_subject import FrameSubject
from engine.faults.held_frames import HeldFrames
from engine.faults.rule_index import RuleIndex, directions_of
from engine.faults.state_record import StateRecord
from engine.protocol.command.remoting_command import decode_command, encode_command
from engine.protocol.errors import MalformedFrame
from engine.protocol.response_code import ResponseCode
from engine.runtime.port import Clock

_log = logging.getLogger("glassmq.faults")

#: The maximum number of rules of a node. Spent ones count: they report what they did until they are removed.
RULES_MAX = 200
#: The maximum number of recent hits that are kept for people.
HITS_KEPT = 200
#: Held frames pass when they were not viewed for this long.
HOLD_LEASE_MS = 30_000

#: Actions after which the other side never gets the request, and so does not answer it.
_UNANSWERED = (FaultAction.DROP, FaultAction.REJECT, FaultAction.CUT)
_NOTHING: frozenset[Direction] = frozenset()


@dataclass(frozen=True, slots=True)
class FaultHit:
    """One frame that a rule acted on."""

    at_ms: int
    rule_id: int
    what: FaultAction
    client: str
    direction: Direction
    frame: str


class FaultInjector:
    """The fault injector of one node.

    :param client_of: ``ip:port`` -> client id, empty while it is not known.
    :param hold_lease_ms: how long held frames wait without being viewed; None: until they are released.
    :ivar totals: action -> how many times it was done since the node's machine began; removing rules does not reset it.
    """

    def __init__(
        self,
        clock: Clock,
        client_of: Callable[[str], str] = lambda address: "",
        *,
        hold_lease_ms: int | None = HOLD_LEASE_MS,
    ) -> None:
        self.clock = clock
        self._hold_lease_ms = hold_lease_ms
        self.client_of = client_of
        self.held = HeldFrames()
        self.delayed = DelayedFrames()
        self.hits: deque[FaultHit] = deque(maxlen=HITS_KEPT)
        self.totals: dict[FaultAction, int] = dict.fromkeys(FaultAction, 0)
        #: Set by :meth:`record`; kept after its end.
        self.frame_record: FrameRecord | None = None
        self.is_recording = False
        self._rules: dict[int, FaultRule] = {}
        self._last_id = 0
        self._interceptors: dict[FrameInterceptor, None] = {}
        self._active = RuleIndex(())
        self._concerned = _NOTHING
        self._remembers = False
        self._lease: asyncio.TimerHandle | None = None
        self._actions: dict[
            FaultAction, Callable[[FaultRule, FrameInterceptor, Direction, bytes, FrameSubject], None]
        ] = {
            FaultAction.DROP: self._drop,
            FaultAction.DELAY: self._delay,
            FaultAction.DUPLICATE: self._duplicate,
            FaultAction.REJECT: self._reject,
            FaultAction.CUT: self._cut,
            FaultAction.CORRUPT: self._corrupt,
            FaultAction.ANSWER_LATE: self._delay,
            FaultAction.HOLD: self._hold,
        }

    # --- rules --------------------------------------------------------------------------------------------------------

    @property
    def rules(self) -> tuple[FaultRule, ...]:
        """Return the rules, oldest first, including spent ones."""
        return tuple(self._rules.values())

    @property
    def is_active(self) -> bool:
        """Return whether a rule may still act, or frames are held or delayed."""
        return len(self.held) > 0 or len(self.delayed) > 0 or self.active_rules > 0

    @property
    def active_rules(self) -> int:
        """Return how many rules may still act."""
        now_ms = self.clock.now_ms()
        return sum(not rule.is_spent(now_ms) for rule in self._active.rules)

    def add(self, rule: FaultRule) -> FaultRule:
        """Add a rule under a new number. Raises :class:`FaultRefused` if there are too many."""
        if len(self._rules) >= RULES_MAX:
            raise FaultRefused("refusal.too_many_faults", limit=RULES_MAX)
        self._last_id += 1
        rule.rule_id, rule.made_ms = self._last_id, self.clock.now_ms()
        self._rules[rule.rule_id] = rule
        if rule.what is FaultAction.HOLD:
            self.look()
        self._compile()
        return rule

    def remove(self, rule_id: int) -> FaultRule:
        """Remove a rule. Raises :class:`FaultRefused` if it does not exist."""
        rule = self._rules.pop(rule_id, None)
        if rule is None:
            known = ", ".join(str(known) for known in self._rules) or "-"
            raise FaultRefused("refusal.no_fault", rule_id=rule_id, known=known)
        self._compile()
        return rule

    def clear(self) -> int:
        """Remove all rules and let all held frames pass. Return how many rules there were."""
        removed = len(self._rules)
        self._rules.clear()
        self._compile()
        self.held.pass_all()
        return removed

    def _compile(self) -> None:
        """Prepare the rules for the hot path; frames that no rule concerns bypass the interceptors."""
        now_ms = self.clock.now_ms()
        active = tuple(rule for rule in self._rules.values() if not rule.is_spent(now_ms))
        self._active = RuleIndex(active)
        self._remembers = any(rule.needs_requests for rule in active)
        concerned = _NOTHING.union(*map(directions_of, active))
        if self.is_recording:
            self._remembers = True
            concerned = frozenset(Direction)
        elif self._remembers and concerned:
            # To know which request a reply answers, the request must have been examined.
            concerned = frozenset(Direction)
        if concerned != self._concerned:
            self._concerned = concerned
            for interceptor in self._interceptors:
                interceptor.guard(concerned)

    # --- recording ----------------------------------------------------------------------------------------------------

    def record(self, client: str, *, with_bodies: bool, states: StateRecord | None = None) -> FrameRecord:
        """Record the frames of these clients from now on; a previous record is discarded."""
        started_ms, started_us = self.clock.now_ms(), self.clock.monotonic_us()
        record = FrameRecord(
            client, with_bodies=with_bodies, started_ms=started_ms, started_us=started_us, states=states
        )
        self.frame_record, self.is_recording = record, True
        self._compile()
        return record

    def stop_recording(self) -> None:
        """Stop recording; the record is kept."""
        self.is_recording = False
        self._compile()

    # --- interceptors -------------------------------------------------------------------------------------------------

    def opened(self, interceptor: FrameInterceptor) -> None:
        """Register a new connection."""
        self._interceptors[interceptor] = None
        interceptor.guard(self._concerned)

    def closed(self, interceptor: FrameInterceptor) -> None:
        """Remove a closed connection with all its pending frames."""
        self._interceptors.pop(interceptor, None)
        self.held.lose(interceptor)
        self.delayed.lose(interceptor)

    def examine(self, interceptor: FrameInterceptor, direction: Direction, frame: bytes) -> None:
        """Let ``frame``, without its length prefix, pass, or apply the first rule that matches it."""
        try:
            command = decode_command(frame)
        except MalformedFrame:
            return interceptor.pass_on(direction, frame)  # its handler will report the error
        is_response = command.is_response
        request = interceptor.request_of(direction, command.opaque) if is_response else None
        subject = FrameSubject(command, request)
        if not interceptor.client_id:
            interceptor.client_id = subject.client_id
        rule = self._first_that_takes(interceptor, direction, subject)
        is_answered = not is_response and not command.is_oneway and (rule is None or rule.what not in _UNANSWERED)
        if self._remembers and is_answered:
            interceptor.remember(direction, subject, len(frame))
        if self.is_recording and self.frame_record is not None:
            client, now_us = self.client_name(interceptor), self.clock.monotonic_us()
            self.frame_record.note(interceptor.remote_address, client, direction, frame, subject, rule, now_us)
        if rule is None:
            return (
                interceptor.let_in(frame, command)
                if direction is Direction.IN
                else interceptor.pass_on(direction, frame)
            )
        self._note(rule, interceptor, direction, subject)
        self._actions[rule.what](rule, interceptor, direction, frame, subject)

    def _first_that_takes(
        self, interceptor: FrameInterceptor, direction: Direction, subject: FrameSubject
    ) -> FaultRule | None:
        active = self._active
        client = self.client_name(interceptor) if active.needs_client else ""
        candidates = active.candidates(subject, client)
        if not candidates and active.ends_ms is None:
            return None
        now_ms = self.clock.now_ms()
        if active.ends_ms is not None and now_ms >= active.ends_ms:
            self._compile()
        for rule in candidates:
            if rule.is_spent(now_ms):
                self._compile()
            elif rule.means(subject, direction, client) and rule.takes():
                return rule
        return None

    def client_name(self, interceptor: FrameInterceptor) -> str:
        """Return the client's id, or its address until it has sent its id."""
        if not interceptor.client_id:
            interceptor.client_id = self.client_of(interceptor.remote_address)
        return interceptor.client_id or interceptor.remote_address

    def _note(
        self, rule: FaultRule, interceptor: FrameInterceptor, direction: Direction, subject: FrameSubject
    ) -> None:
        now_ms = self.clock.now_ms()
        client = self.client_name(interceptor)
        self.totals[rule.what] += 1
        self.hits.append(FaultHit(now_ms, rule.rule_id, rule.what, client, direction, subject.name))
        _log.warning("fault %d: %s %s, %s of %s", rule.rule_id, rule.what.value, subject.name, direction.value, client)
        if rule.is_spent(now_ms):
            self._compile()

    # --- actions ---------------------------------------------------------------------------------------------------

    def _drop(
        self, rule: FaultRule, interceptor: FrameInterceptor, direction: Direction, frame: bytes, subject: FrameSubject
    ) -> None:
        """Drop the frame."""

    def _delay(
        self, rule: FaultRule, interceptor: FrameInterceptor, direction: Direction, frame: bytes, subject: FrameSubject
    ) -> None:
        self.delayed.add(rule.ms, interceptor, direction, frame)

    def _duplicate(
        self, rule: FaultRule, interceptor: FrameInterceptor, direction: Direction, frame: bytes, subject: FrameSubject
    ) -> None:
        interceptor.pass_on(direction, frame)
        interceptor.pass_on(direction, frame)

    def _reject(
        self, rule: FaultRule, interceptor: FrameInterceptor, direction: Direction, frame: bytes, subject: FrameSubject
    ) -> None:
        if not subject.command.is_oneway:
            remark = f"refused by fault {rule.rule_id} of GlassMQ"
            interceptor.answer(encode_command(subject.command.reply(ResponseCode[rule.code], remark)))

    def _cut(
        self, rule: FaultRule, interceptor: FrameInterceptor, direction: Direction, frame: bytes, subject: FrameSubject
    ) -> None:
        interceptor.close()

    def _corrupt(
        self, rule: FaultRule, interceptor: FrameInterceptor, direction: Direction, frame: bytes, subject: FrameSubject
    ) -> None:
        interceptor.pass_on(direction, rule.spoil(frame))

    # --- holding ------------------------------------------------------------------------------------------------------

    def _hold(
        self, rule: FaultRule, interceptor: FrameInterceptor, direction: Direction, frame: bytes, subject: FrameSubject
    ) -> None:
        if not self.held.has_room(frame):
            _log.warning("too many frames are held: all are released, and holding ends")
            self.stop_holding()
            return interceptor.pass_on(direction, frame)
        self.held.add(
            rule.rule_id, interceptor, self.client_name(interceptor), direction, frame, subject, self.clock.now_ms()
        )

    def look(self) -> int:
        """Note that held frames are viewed: they are held for the lease once more, which is returned; 0 without one."""
        if self._hold_lease_ms is None:
            return 0
        if self._lease is not None:
            self._lease.cancel()
        loop = asyncio.get_running_loop()
        self._lease = loop.call_later(self._hold_lease_ms / 1_000, self._nobody_looks)
        return self._hold_lease_ms

    def lease_left_ms(self) -> int:
        """Return how much longer held frames wait without being viewed."""
        if self._lease is None:
            return 0
        return max(0, round((self._lease.when() - asyncio.get_running_loop().time()) * 1_000))

    def _nobody_looks(self) -> None:
        self._lease = None
        if len(self.held) or any(rule.what is FaultAction.HOLD for rule in self._active.rules):
            waited_s = (self._hold_lease_ms or 0) // 1_000
            _log.warning("nobody has looked at the held frames for %d s: they are released", waited_s)
        self.stop_holding()

    def stop_holding(self) -> int:
        """Let all held frames pass, and remove the rules that hold. Return how many frames there were."""
        for rule in self.rules:
            if rule.what is FaultAction.HOLD:
                del self._rules[rule.rule_id]
        self._compile()
        return self.held.pass_all()

    def let_pass(self, held_id: int, changed: bytes | None = None) -> None:
        """Let a held frame pass, as it is or ``changed``. Raises :class:`FaultRefused`."""
        held = self.held.take(held_id)
        held.interceptor.pass_on(held.direction, held.frame if changed is None else changed)

    def drop_held(self, held_id: int) -> None:
        """Drop a held frame. Raises :class:`FaultRefused`."""
        self.held.take(held_id)
