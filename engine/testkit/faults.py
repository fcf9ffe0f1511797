"""Faults as a test injects them: the rules of :mod:`engine.faults`, and those of the broker's process and disk.

Each is a context manager that begins with its call: it ends with its block, else with the test.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Generator, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, Self, TypedDict, TypeVar, Unpack

from engine.faults.errors import FaultRefused
from engine.faults.fault_injector import FaultInjector
from engine.faults.fault_rule import RULE_FIELDS, FaultAction, FaultRule
from engine.faults.frame_subject import REPLY
from engine.fields.field import read_fields
from engine.fields.refusal import FieldRefused
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.testkit.embedded_broker import EmbeddedBroker
from engine.testkit.errors import TestKitError, check_may_block
from engine.testkit.frame_delays import FrameDelay
from engine.testkit.passed_frames import frame_table, has_passed, nearest_frames
from engine.texts import Text

_T = TypeVar("_T")

#: Seconds that a test waits for a frame by default.
TIMEOUT_S = 10.0


class Which(TypedDict, total=False):
    """The frames that a rule matches, and how many of them; docs/operating/faults.md describes each field."""

    direction: str
    client: str
    topic: str
    group: str
    key: str
    times: int
    every: int
    ratio: float
    seed: int
    for_ms: int


class Fault:
    """A rule on frames that is in force until its block or its test ends.

    ``await fault`` waits for its first hit, as ``fault.wait()`` does in a thread without an event loop.
    """

    def __init__(self, faults: Faults, rule: FaultRule) -> None:
        self._faults = faults
        self._rule = rule
        self._is_over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.remove()
        self._faults.check_hit(self, is_error=kind is not None)

    @property
    def hits(self) -> int:
        """Return how many frames it has acted on."""
        return self._rule.hits

    @property
    def rule(self) -> FaultRule:
        """Return the rule as the fault injector has it."""
        return self._rule

    def wait(self, count: int = 1, timeout: float = TIMEOUT_S) -> None:
        """Wait until it has acted on ``count`` frames. Raises ``AssertionError`` with the frames that came instead."""
        check_may_block("fault.wait")
        rule = self._rule
        is_decided = self._faults.until(lambda injector: rule.hits >= count or rule not in injector.rules, timeout)
        if rule.hits < count:
            acted = f"{describe(rule)} acted on {rule.hits} of {count} frames"
            if is_decided:
                raise AssertionError(f"{acted} and is over: its block or its test has ended, or the broker was reset")
            raise AssertionError(f"{acted} after {timeout:g} s{self._faults.nearest(rule)}")

    def __await__(self) -> Generator[Any, None, None]:
        return asyncio.to_thread(self.wait).__await__()

    def remove(self) -> None:
        """End it; frames that it holds go on."""
        if not self._is_over:
            self._is_over = True
            self._faults.remove(self._rule)


class Hold(Fault):
    """A rule that lets frames wait at the broker until the test releases them."""

    @property
    def waiting(self) -> int:
        """Return how many frames it holds now."""
        return len(self._faults.held_by(self._rule))

    def release(self, count: int | None = None) -> int:
        """Let the oldest ``count`` frames go on, or all; return how many there were. The rule goes on holding."""
        return self._faults.release(self._rule, count)

    def release_after(self, frame: str, timeout: float = TIMEOUT_S, **which: Unpack[Which]) -> None:
        """Wait until another such frame has passed after the first one was held; then release.

        Raises ``AssertionError`` if it does not come; the frames go on all the same.
        """
        check_may_block("fault.release_after")
        other = self._faults.rule(FaultAction.DROP, frame, which)
        self.wait(timeout=timeout)
        try:
            if not self._faults.has_passed(other, after=self._rule, timeout_s=timeout):
                raise AssertionError(
                    f"no {frame or 'frame'} passed while {describe(self._rule)} held {self.waiting} frames, for "
                    f"{timeout:g} s{self._faults.nearest(other)}"
                )
        finally:
            self.release()


class FaultCondition:
    """A fault of the broker's machine that is in force until its block or its test ends."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """End it."""
        self._end()


class Faults:
    """The faults of one broker.

    ``frame`` is a request by its name (``SEND_MESSAGE_V2``), ``reply to SEND_MESSAGE_V2``, or empty for any frame.

    :ivar fail_unhit: whether a rule that acted on no frame fails its test; what a test sets holds until its end.
    """

    def __init__(self, broker: EmbeddedBroker, *, fail_unhit: bool = True) -> None:
        self.fail_unhit = self._fails_unhit_by_default = fail_unhit
        self._broker = broker
        self._made: list[Fault] = []
        self._disturbing: list[FaultRule] = []

    # --- frames -------------------------------------------------------------------------------------------------------

    def drop(self, frame: str = "", **which: Unpack[Which]) -> Fault:
        """Lose frames."""
        return self._add(Fault, self.rule(FaultAction.DROP, frame, which))

    def delay(self, frame: str = "", *, ms: int, **which: Unpack[Which]) -> Fault:
        """Let frames come ``ms`` later; others overtake them."""
        return self._add(Fault, self.rule(FaultAction.DELAY, frame, which, ms=ms))

    def duplicate(self, frame: str = "", **which: Unpack[Which]) -> Fault:
        """Let frames come twice."""
        return self._add(Fault, self.rule(FaultAction.DUPLICATE, frame, which))

    def reject(self, frame: str = "", *, code: str = "SYSTEM_ERROR", **which: Unpack[Which]) -> Fault:
        """Answer requests with an error instead of carrying them out. ``code`` is a ``ResponseCode`` by its name."""
        if code not in ResponseCode.__members__:
            raise TestKitError(Text("testkit.no_code", name=repr(code), hint=_hint(str(code), ResponseCode)))
        return self._add(Fault, self.rule(FaultAction.REJECT, frame, which, code=code))

    def cut(self, frame: str = "", **which: Unpack[Which]) -> Fault:
        """Lose frames together with their connection."""
        return self._add(Fault, self.rule(FaultAction.CUT, frame, which))

    def corrupt(self, frame: str = "", **which: Unpack[Which]) -> Fault:
        """Turn all bits of one byte, which ``seed`` chooses."""
        return self._add(Fault, self.rule(FaultAction.CORRUPT, frame, which))

    def answer_late(self, frame: str = "", *, ms: int, **which: Unpack[Which]) -> Fault:
        """Carry requests out, and send their replies ``ms`` later."""
        return self._add(Fault, self.rule(FaultAction.ANSWER_LATE, frame, which, ms=ms))

    def hold(self, frame: str = "", **which: Unpack[Which]) -> Hold:
        """Let frames wait until the test releases them, so that it decides the order of two clients' frames."""
        return self._add(Hold, self.rule(FaultAction.HOLD, frame, which))

    # --- process and disk ---------------------------------------------------------------------------------------------

    def crash(self) -> FaultCondition:
        """Kill the broker: what it had in memory only is gone. ``restart`` or the end of the block starts it again."""
        self._broker.carry_out(lambda machines: machines.crash_broker())
        return FaultCondition(self._restart_if_crashed)

    def restart(self) -> None:
        """Start the killed broker again on its files, at its address."""
        self._broker.carry_out(lambda machines: machines.restart_broker())

    def _restart_if_crashed(self) -> None:
        if not self._broker.has_broker:
            self.restart()

    def full_disk(self) -> FaultCondition:
        """Fill the broker's disk: it refuses messages at once, and takes them again at once when there is room."""
        return self._set_disk("is_full", True)

    def fail_fsync(self) -> FaultCondition:
        """Let each flush report an error of the device. A broker that has seen one accepts nothing until a restart."""
        return self._set_disk("flushes_fail", True)

    def slow_fsync(self, ms: int) -> FaultCondition:
        """Let each flush take ``ms``; a send waits for it with ``flushDiskType`` SYNC_FLUSH."""
        if ms < 1:
            raise TestKitError(Text("testkit.slow_flush", ms=ms))
        return self._set_disk("flush_ms", ms)

    def _set_disk(self, name: str, value: object) -> FaultCondition:
        self._broker.set_disk(name, value)
        return FaultCondition(partial(self._broker.set_disk, name, type(value)()))

    def pause(self, seconds: float = 600.0) -> FaultCondition:
        """Let broker and name server get no processor time for this long, from 50 ms on; questions are refused then."""
        if not 0 < seconds <= 600:
            raise TestKitError(Text("testkit.pause", seconds=f"{seconds:g}"))
        self._broker.pause(round(seconds * 1_000))
        return FaultCondition(self._broker.resume)

    def disturb(self, delays: Sequence[FrameDelay]) -> None:
        """Delay frames from now on. Rules that the test makes go before."""
        self._disturbing = [delay.rule() for delay in delays]

        def add(injector: FaultInjector) -> None:
            for rule in self._disturbing:
                injector.add(rule)

        self._broker.at_gate(add)

    # --- the end of a test --------------------------------------------------------------------------------------------

    def end(self) -> None:
        """End all faults. Raises ``AssertionError`` if a rule acted on no frame, and :attr:`fail_unhit` is on."""
        self._broker.resume()
        made, self._made = self._made, []
        shown = [self._unhit(fault) for fault in made if not fault.hits] if self.fail_unhit else []
        self.clear()
        if shown:
            raise AssertionError("\n".join(shown))

    def clear(self) -> None:
        """End all faults, also of rules that acted on nothing; a killed broker starts again."""
        self.forget()
        self._broker.mend()
        self._restart_if_crashed()

    def forget(self) -> None:
        """Forget the rules of a broker that was replaced, and what its test has set."""
        self._made.clear()
        self._disturbing = []
        self.fail_unhit = self._fails_unhit_by_default

    def check_hit(self, fault: Fault, *, is_error: bool) -> None:
        """Check one rule whose block has ended, unless by an error: that is what the test is about then."""
        if fault in self._made:
            self._made.remove(fault)
            if self.fail_unhit and not fault.hits and not is_error:
                raise AssertionError(self._unhit(fault))

    def _unhit(self, fault: Fault) -> str:
        return f"{describe(fault.rule)} acted on no frame (faults.fail_unhit){self.nearest(fault.rule)}"

    # --- inside -------------------------------------------------------------------------------------------------------

    def rule(self, what: FaultAction, frame: str, which: Which, **more: Any) -> FaultRule:
        """Return a checked rule. Raises :class:`TestKitError`, which names what is wrong and what is allowed."""
        name = str(frame).removeprefix(f"{REPLY} to ")
        if frame not in ("", REPLY) and name not in RequestCode.__members__:
            raise TestKitError(Text("testkit.no_request", name=repr(name), hint=_hint(name, RequestCode)))
        values: dict[str, Any] = {**which, **more}
        known = (*Which.__annotations__, *more)
        try:
            read_fields([field for field in RULE_FIELDS if field.name in known], values, what="rule")
            return FaultRule(what, frame, **values)
        except (FieldRefused, FaultRefused) as error:
            raise TestKitError(error.text) from error

    def _add(self, kind: type[_F], rule: FaultRule) -> _F:
        def add(injector: FaultInjector) -> None:
            if not injector.is_recording:  # for the frames that come nearest to a rule
                injector.record("", with_bodies=True)
            injector.add(rule)
            for later in self._disturbing:
                injector.remove(later.rule_id)
                injector.add(later)

        self._broker.at_gate(add)
        fault = kind(self, rule)
        self._made.append(fault)
        return fault

    def remove(self, rule: FaultRule) -> None:
        """Remove a rule; frames that it holds go on."""

        def remove(injector: FaultInjector) -> None:
            if rule in injector.rules:
                injector.remove(rule.rule_id)
            for held in injector.held.frames:
                if held.rule_id == rule.rule_id:
                    injector.let_pass(held.held_id)

        self._broker.at_gate(remove)

    def held_by(self, rule: FaultRule) -> list[int]:
        """Return the ids of the frames that a rule holds."""
        return self._broker.at_gate(
            lambda injector: [held.held_id for held in injector.held.frames if held.rule_id == rule.rule_id]
        )

    def release(self, rule: FaultRule, count: int | None) -> int:
        """Let the oldest frames of a rule go on."""

        def release(injector: FaultInjector) -> int:
            ids = [held.held_id for held in injector.held.frames if held.rule_id == rule.rule_id][:count]
            for held_id in ids:
                injector.let_pass(held_id)
            return len(ids)

        return self._broker.at_gate(release)

    def until(self, condition: Callable[[FaultInjector], bool], timeout_s: float) -> bool:
        """Wait for a condition of rules; return whether it came true in time."""
        return self._broker.until_gate(condition, timeout_s)

    def has_passed(self, other: FaultRule, after: FaultRule, timeout_s: float) -> bool:
        """Wait until a frame that ``other`` means has passed after the first one that ``after`` held."""
        return self._broker.until_gate(lambda injector: has_passed(injector, other, after.rule_id), timeout_s)

    def nearest(self, rule: FaultRule) -> str:
        """Return the frames that came nearest to a rule, as a table."""
        return self._broker.at_gate(lambda injector: frame_table(nearest_frames(injector, rule)))


_F = TypeVar("_F", bound=Fault)


def describe(rule: FaultRule) -> str:
    """Return a rule as the call that made it."""
    shown = {one.name: one.default for one in fields(rule) if one.name in (*Which.__annotations__, "ms", "code")}
    values = {name: getattr(rule, name) for name in shown}
    own = {name: value for name, value in values.items() if value != shown[name]}
    frame = rule.frame
    if rule.what is FaultAction.ANSWER_LATE:
        frame = frame.removeprefix(REPLY).removeprefix(" to ")
        del own["direction"]
    elif rule.what is FaultAction.REJECT:
        del own["direction"]
    arguments = [repr(frame), *(f"{name}={value!r}" for name, value in own.items())]
    return f"faults.{rule.what.value.replace('-', '_')}({', '.join(arguments)})"


def _hint(name: str, codes: type[RequestCode | ResponseCode]) -> Text:
    """Return the code that a number means, else those whose names come near, else all."""
    wanted, known = name.upper(), list(codes.__members__)
    near = [one for one in known if wanted == str(codes[one].value)] or [
        *difflib.get_close_matches(wanted, known, n=3),
        *(one for one in known if wanted and wanted in one),
    ]
    if near:
        return Text("refusal.did_you_mean", likely=", ".join(dict.fromkeys(near)))
    return Text("refusal.allowed", known=", ".join(known))
