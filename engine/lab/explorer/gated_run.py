"""A run of a lab loop in which some actors pause where the schedule says so.

A ``step`` comes before every engine access to shared state, so the steps of the watched nodes are all the places at
which another order can matter. They are recorded together with the frames that may be lost: the search takes its next
stalls from them. What is done to the world is recorded, too, as ordinary lab commands: a recording of them repeats the
run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from engine.lab.checkers.watch.violation import Violation
from engine.lab.explorer.stall import Stall, StepPoint
from engine.lab.run.recording import TimedCommand
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario import Command
from engine.runtime.lab.lab_event import LabEvent
from engine.runtime.lab.lab_loop import LabLoop

#: Labels of a task's events without access to shared state.
_NO_STEPS = frozenset({"starts", "timer"})
#: Virtual time that passes after the story ends, for what may still be in flight.
GRACE_US = 200_000
NEVER_US = 1 << 60
#: More events than any window has; a world that never rests ends here.
EVENTS_MAX = 50_000
#: Most frames of a run that are points of their own; with more, the search is incomplete.
FRAMES_MAX = 1_000


class BegunStall(NamedTuple):
    """A stall that took effect, after event ``event`` at virtual time ``time_us``."""

    stall: Stall
    event: int
    time_us: int


class ScheduledCommand(NamedTuple):
    """A command at a virtual time, whatever the schedule."""

    time_us: int
    command: Command


@dataclass(frozen=True, slots=True)
class ScheduleOutcome:
    """Outcome of one schedule.

    :ivar steps: actor and label of the step points that were passed, in order.
    :ivar later: index of the first point that was passed after the last stall had begun; 0 without stalls.
    :ivar begun: the stalls that took effect. One whose point never came did not.
    :ivar commands: all that was done to the world, to be repeated.
    :ivar violation: the first one; the run ended there.
    :ivar events: how many events ran.
    :ivar is_cut: there were more than :data:`FRAMES_MAX` frames that might be lost.
    """

    steps: tuple[tuple[str, str], ...]
    later: int
    begun: tuple[BegunStall, ...]
    commands: tuple[TimedCommand, ...]
    violation: Violation | None
    events: int
    is_cut: bool = False

    @property
    def points(self) -> tuple[StepPoint, ...]:
        """Return the step points that were passed, in order."""
        counts: dict[tuple[str, str], int] = {}
        points: list[StepPoint] = []
        for step in self.steps:
            counts[step] = occurrence = counts.get(step, 0) + 1
            points.append(StepPoint(*step, occurrence))
        return tuple(points)


class Watch(Protocol):
    """The condition that a search watches for in a schedule."""

    def has_news(self) -> object:
        """Return whether there is anything to check. Called after each event, so it must be very cheap."""
        ...

    def look(self) -> Violation | None:
        """Return the present violation, and reset the news."""
        ...

    def is_done(self) -> bool:
        """Return whether the story is over. With no paused actor the run then ends :data:`GRACE_US` later."""
        ...


class StallSource(Protocol):
    """Decides which stall begins where."""

    def stall_at(self, point: StepPoint) -> Stall | None:
        """Return the stall that begins at ``point``, or None. Called once at every point that is passed.

        A point at which a stall has begun is passed again when the stall is over.
        """
        ...


class PlannedStalls:
    """A :class:`StallSource` with the stalls of one schedule, in any order."""

    def __init__(self, stalls: Sequence[Stall]) -> None:
        self._waiting: dict[tuple[str, str, int], Stall] = {stall.point: stall for stall in stalls}
        assert len(self._waiting) == len(stalls), "two stalls at one point"

    def stall_at(self, point: StepPoint) -> Stall | None:
        """Return the stall at ``point``; each begins once."""
        return self._waiting.pop(point, None)


class GatedRun:
    """One schedule on one world.

    :param nodes: the nodes whose steps are watched.
    :param apply: carries out a command on the world.
    :param watch: reports violations.
    :param plan: further commands, in the order of time.
    """

    def __init__(
        self,
        loop: LabLoop,
        nodes: Sequence[str],
        stalls: StallSource,
        *,
        apply: Callable[[Command], None],
        watch: Watch,
        plan: Sequence[ScheduledCommand] = (),
    ) -> None:
        self._loop = loop
        self._nodes = frozenset(nodes)
        self._apply = apply
        self._watch = watch
        self._stalled_until_us = 0
        self._grace_end_us = NEVER_US
        self._agenda = list(plan)
        self._stalls = stalls
        #: How often each point was passed.
        self._counts: dict[tuple[str, str], int] = {}
        self._steps: list[tuple[str, str]] = []
        self._later = 0
        self._begun: list[BegunStall] = []
        self._commands: list[TimedCommand] = []
        self._next: Stall | None = None
        self._violation: Violation | None = None
        self._is_in_window = False
        #: Link and name of the frames of the newest event that sent any, and how many frames there were in all.
        self._event_frames: tuple[int, dict[tuple[str, str], None]] = (0, {})
        self._frames = 0

    def run(self, begin_us: int, end_us: int, last_us: int = 0) -> ScheduleOutcome:
        """Run everything that is due by ``end_us`` (by ``last_us``, if that is later), or up to the first violation.

        Stalls begin only between ``begin_us`` and ``end_us``.

        Raises :class:`CommandRefused` if a planned command cannot be carried out although no actor is paused.
        """
        first_event = self._loop.event_number
        if begin_us > 0:
            self._run_to(begin_us - 1)
        self._loop.schedule.gate = self._gate
        self._is_in_window = True
        try:
            self._run_to(end_us)
        finally:
            self._loop.schedule.gate = None
            self._is_in_window = False
        if last_us > end_us and self._violation is None:
            self._run_to(last_us)
        return ScheduleOutcome(
            tuple(self._steps),
            self._later,
            tuple(self._begun),
            tuple(self._commands),
            self._violation,
            self._loop.event_number - first_event,
            self._frames > FRAMES_MAX,
        )

    def _run_to(self, until_us: int) -> None:
        loop, watch = self._loop, self._watch
        while loop.event_number < EVENTS_MAX:
            end_us = min(until_us, self._grace_end_us)
            is_due = bool(self._agenda) and self._agenda[0].time_us <= end_us
            loop.run_events(EVENTS_MAX, self._agenda[0].time_us if is_due else end_us, watch.has_news)
            has_news = bool(watch.has_news())
            self._violation = watch.look()
            if self._violation is not None:
                return
            if loop.schedule.stopped_by_gate:
                self._begin_stall()
            elif has_news:
                self._end_soon_if_done()
            elif is_due:
                self._do(self._agenda.pop(0).command, self._loop.event_number)
            else:
                return

    def _end_soon_if_done(self) -> None:
        """End soon if no actor is paused or will be resumed, and the story is over: only the grace period is left."""
        if not self._agenda and self._watch.is_done():
            self._grace_end_us = max(self._loop.now_us, self._stalled_until_us) + GRACE_US

    def _gate(self, event: LabEvent) -> bool:
        """Decide before each event whether it runs; False: not yet, a stall begins."""
        label = event.label
        actor = event.actor
        if label in _NO_STEPS or actor.node.name not in self._nodes or "->" in actor.name:
            return True
        step = (actor.name, label)
        occurrence = self._counts.get(step, 0) + 1
        self._next = self._stalls.stall_at(StepPoint(*step, occurrence))
        if self._next is not None:
            return False
        self._counts[step] = occurrence
        self._steps.append(step)
        return True

    def frame_leaves(self, link: str, name: str) -> None:
        """Note a frame that may be lost, while its event runs."""
        if not self._is_in_window:
            return
        event, step = self._loop.event_number, (link, name)
        if self._event_frames[0] != event:
            self._event_frames = (event, {})
        if step in self._event_frames[1]:
            return  # drop-next would drop the one before
        self._event_frames[1][step] = None
        self._frames += 1
        if self._frames > FRAMES_MAX:
            return
        self._steps.append(step)
        self._counts[step] = occurrence = self._counts.get(step, 0) + 1
        stall = self._stalls.stall_at(StepPoint(*step, occurrence))
        if stall is not None:
            self._loop.run_on_after_fork()
            # A command takes effect between two events: directly before this one it has the same effect.
            self._begin(stall, event - 1)

    def _begin_stall(self) -> None:
        stall, self._next = self._next, None
        assert stall is not None, "only a stall stops the run"
        self._begin(stall, self._loop.event_number)

    def _begin(self, stall: Stall, event: int) -> None:
        """Begin the stall after event ``event``."""
        now_us = self._loop.now_us
        self._later = len(self._steps)
        self._grace_end_us = NEVER_US
        self._stalled_until_us = max(self._stalled_until_us, now_us + stall.ms * 1_000)
        self._begun.append(BegunStall(stall, event, now_us))
        self._do(stall.begin(), event)
        end = stall.end()
        if end is not None:
            self._agenda.append(ScheduledCommand(now_us + stall.ms * 1_000, end))
            self._agenda.sort(key=lambda planned: planned.time_us)

    def _do(self, command: Command, event: int) -> None:
        # The gate must not see what a command itself reads.
        gate, self._loop.schedule.gate = self._loop.schedule.gate, None
        try:
            self._apply(command)
        except CommandRefused:
            # A paused actor may be the reason: this schedule continues without it. Otherwise the request was invalid.
            if not self._begun:
                raise
        else:
            self._commands.append(TimedCommand(event, self._loop.now_us, command))
        finally:
            self._loop.schedule.gate = gate
