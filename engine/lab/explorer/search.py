"""Stall-bounded search: all schedules with no stall, then all with one, then all with two ... Crashes count as stalls
here, with a bound of their own.

A bug that needs few untimely pauses is found soon, and what is found is short. The idea is that of context-bounded
search (Musuvathi and Qadeer, CHESS); bounding stalls instead of preemptions fits a world in which time passes only when
nothing else can run.

A schedule is one run of the world from the window's beginning with a certain set of stalls. Each set is run once: a
further stall is put only at a point that was passed after the last one had begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.lab.explorer.gated_run import Outcome
from engine.lab.explorer.stall import Stall, StallKind, Stalls, StepPoint

#: Runs one schedule from the beginning.
Execute = Callable[[Stalls], Outcome]

#: Schedules whose further points are remembered for the next depth, and found ones that are remembered.
FRONTIER_MAX = 200_000
FOUND_MAX = 100


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """What a search covers.

    :ivar max_stalls: how many holds and pauses one schedule has at most.
    :ivar hold_ms: for how long an actor stands still; each of them is tried at each point.
    :ivar pause_ms: the same for whole nodes.
    :ivar max_schedules: how many schedules are run at most.
    :ivar max_crashes: how many crashes one schedule has at most, besides the stalls.
    :ivar crash_nodes: which nodes may crash.
    :ivar restart_ms: how long after its crash a process starts again;
        :data:`~engine.lab.explorer.stall.FOR_EVER_MS`: never. Each of them is tried.
    """

    max_stalls: int = 2
    hold_ms: tuple[int, ...] = (2_000,)
    pause_ms: tuple[int, ...] = ()
    max_schedules: int = 1_000_000
    max_crashes: int = 0
    crash_nodes: tuple[str, ...] = ()
    restart_ms: tuple[int, ...] = ()

    @property
    def max_depth(self) -> int:
        """How many stalls and crashes one schedule has at most."""
        return self.max_stalls + self.max_crashes


class Found(NamedTuple):
    """A schedule that led to a violation."""

    stalls: Stalls
    outcome: Outcome


@dataclass(slots=True)
class SearchState:
    """How far a search has come.

    :ivar schedules: how many were run.
    :ivar events: how many events they had.
    :ivar depth: how many stalls the schedules of the moment have.
    :ivar done, planned: schedules of this depth: how many were run, how many there are.
    :ivar by_depth: how many were run, per number of stalls.
    :ivar found: those that violated something.
    :ivar is_complete: every schedule within the bounds was run.
    """

    schedules: int = 0
    events: int = 0
    depth: int = 0
    done: int = 0
    planned: int = 1
    by_depth: list[int] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    is_complete: bool = False


class _Branch(NamedTuple):
    """A schedule that violated nothing, and where one more stall may be put."""

    stalls: Stalls
    points: tuple[StepPoint, ...]


#: Duration in milliseconds, and what lasts so long.
_Kind = tuple[int, StallKind]


class StallSearch:
    """:ivar state: see :class:`SearchState`."""

    def __init__(self, execute: Execute, bounds: SearchBounds) -> None:
        self._execute = execute
        self._bounds = bounds
        #: Each point once: the branches of a depth have hundreds of them each, mostly the same.
        self._points: dict[StepPoint, StepPoint] = {}
        self._stalls = [(ms, StallKind.HOLD) for ms in bounds.hold_ms] + [
            (ms, StallKind.PAUSE) for ms in bounds.pause_ms
        ]
        self._crashes = [(ms, StallKind.CRASH) for ms in bounds.restart_ms]
        self.state = SearchState()

    def run(self) -> Iterator[Found | None]:
        """Run schedules one by one; yields after each, what it violated or None. Stop asking to end the search."""
        state = self.state
        frontier: list[_Branch] = []
        for depth in range(self._bounds.max_depth + 1):
            state.depth, state.done = depth, 0
            state.planned = 1 if depth == 0 else sum(self._count_further(branch) for branch in frontier)
            state.by_depth.append(0)
            next_frontier: list[_Branch] = []
            for stalls in self._schedules(depth, frontier):
                if state.schedules >= self._bounds.max_schedules:
                    return
                outcome = self._run_one(stalls)
                if outcome.violation is not None:
                    found = Found(stalls, outcome)
                    if len(state.found) < FOUND_MAX:
                        state.found.append(found)
                    yield found
                    continue
                if depth < self._bounds.max_depth:
                    if len(next_frontier) >= FRONTIER_MAX:
                        return
                    points = further_points(stalls, outcome)
                    next_frontier.append(_Branch(stalls, tuple(self._points.setdefault(one, one) for one in points)))
                yield None
            frontier = next_frontier
        state.is_complete = True

    def _schedules(self, depth: int, frontier: Sequence[_Branch]) -> Iterator[Stalls]:
        if depth == 0:
            yield ()
        for branch in frontier:
            stalls, crashes = self._kinds_after(branch)
            for point in branch.points:
                # What dies has done less than what stands still: it tells more when both break something.
                if crashes and point.node in self._bounds.crash_nodes:
                    for ms, kind in crashes:
                        yield (*branch.stalls, Stall(point, ms, kind))
                for ms, kind in stalls:
                    yield (*branch.stalls, Stall(point, ms, kind))

    def _kinds_after(self, branch: _Branch) -> tuple[list[_Kind], list[_Kind]]:
        """Stalls and crashes that one more may be, at each point that allows it."""
        crashed = sum(stall.kind is StallKind.CRASH for stall in branch.stalls)
        stalled = len(branch.stalls) - crashed
        return (
            self._stalls if stalled < self._bounds.max_stalls else [],
            self._crashes if crashed < self._bounds.max_crashes else [],
        )

    def _count_further(self, branch: _Branch) -> int:
        stalls, crashes = self._kinds_after(branch)
        count = len(branch.points) * len(stalls)
        if crashes:
            count += sum(point.node in self._bounds.crash_nodes for point in branch.points) * len(crashes)
        return count

    def _run_one(self, stalls: Stalls) -> Outcome:
        state = self.state
        outcome = self._execute(stalls)
        state.schedules += 1
        state.done += 1
        state.by_depth[-1] += 1
        state.events += outcome.events
        return outcome


def further_points(stalls: Stalls, outcome: Outcome) -> tuple[StepPoint, ...]:
    """Where one more stall may be put. Not where one is already: that would only be a longer one."""
    taken = {stall.point: None for stall in stalls}
    return tuple(point for point in outcome.points[outcome.later :] if point not in taken)
