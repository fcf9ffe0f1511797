"""Stall-bounded search: all schedules with no stall, then all with one, then all with two ... Crashes and lost frames
count as stalls here, with bounds of their own.

A bug that needs few untimely pauses is found soon, and what is found is short. The idea is that of context-bounded
search (Musuvathi and Qadeer, CHESS); bounding stalls instead of preemptions fits a world in which time passes only when
nothing else can run.

A schedule is one run of the world from the window's beginning with a certain set of stalls. Each set is run once: a
further stall is put only at a point that was passed after the last one had begun.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.lab.explorer.gated_run import ScheduleOutcome
from engine.lab.explorer.stall import FOR_EVER_MS, Stall, StallKind, Stalls, StepPoint

#: Runs one schedule from the beginning.
Execute = Callable[[Stalls], ScheduleOutcome]

#: Most schedules whose further points are remembered for the next depth.
FRONTIER_MAX = 200_000


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """Bounds of a search.

    :ivar max_stalls: most stalls and pauses of one schedule.
    :ivar hold_ms: how long an actor pauses; each duration is tried at each point.
    :ivar pause_ms: the same for whole nodes.
    :ivar max_schedules: how many schedules are run at most.
    :ivar max_crashes: how many crashes one schedule has at most, besides the stalls.
    :ivar crash_nodes: which nodes may crash.
    :ivar restart_ms: how long after its crash a process starts again;
        :data:`~engine.lab.explorer.stall.FOR_EVER_MS`: never. Each of them is tried.
    :ivar max_losses: how many frames one schedule loses at most, besides.
    """

    max_stalls: int = 2
    hold_ms: tuple[int, ...] = (2_000,)
    pause_ms: tuple[int, ...] = ()
    max_schedules: int = 1_000_000
    max_crashes: int = 0
    crash_nodes: tuple[str, ...] = ()
    restart_ms: tuple[int, ...] = ()
    max_losses: int = 0

    @property
    def max_depth(self) -> int:
        """Return the maximum number of stalls, crashes and lost frames in one schedule."""
        return self.max_stalls + self.max_crashes + self.max_losses


@dataclass(slots=True)
class SearchState:
    """Progress of a search.

    :ivar schedules: how many were run.
    :ivar events: how many events they had.
    :ivar depth: how many stalls the schedules of the moment have.
    :ivar done, planned: schedules of this depth: how many were run, how many there are.
    :ivar by_depth: how many were run, per number of stalls.
    :ivar is_complete: every schedule within the bounds was run.
    """

    schedules: int = 0
    events: int = 0
    depth: int = 0
    done: int = 0
    planned: int = 1
    by_depth: list[int] = field(default_factory=list)
    is_complete: bool = False


class SearchBranch(NamedTuple):
    """A schedule without violation, and where one more stall may be put."""

    stalls: Stalls
    points: tuple[StepPoint, ...]


#: Runs all schedules with one stall more than ``branches`` have, in the order of :func:`schedules_after`, and yields
#: their outcomes. ``keeps_steps``: whether the steps of the outcomes are needed.
RunBranches = Callable[[Sequence[SearchBranch], SearchBounds, bool], Iterator[ScheduleOutcome]]

#: Duration in milliseconds, and the kind of stall.
_Kind = tuple[int, StallKind]


class StallSearch:
    """Search schedules by number of stalls.

    :ivar state: progress of the search.
    :param run_branches: runs the schedules with one stall and more; None: ``execute``, one after the other.
    """

    def __init__(self, execute: Execute, bounds: SearchBounds, run_branches: RunBranches | None = None) -> None:
        self._execute = execute
        self._bounds = bounds
        self._run_branches = run_branches if run_branches is not None else self._run_here
        #: Each point once: the branches of a depth have hundreds of them each, mostly the same.
        self._points: dict[StepPoint, StepPoint] = {}
        self.state = SearchState()
        #: Whether some schedule had more frames than can be points.
        self._is_cut = False

    def run(self) -> Iterator[Stalls | None]:
        """Run schedules one by one; yields after each: the schedule, if it violated something. Stop iterating to end
        the search.
        """
        state, bounds = self.state, self._bounds
        frontier: list[SearchBranch] = []
        for depth in range(bounds.max_depth + 1):
            state.depth, state.done = depth, 0
            state.planned = 1 if depth == 0 else sum(count_after(branch, bounds) for branch in frontier)
            state.by_depth.append(0)
            goes_deeper = depth < bounds.max_depth
            next_frontier: list[SearchBranch] = []
            with closing(self._outcomes(depth, frontier, goes_deeper)) as outcomes:
                while state.done < state.planned:
                    if state.schedules >= bounds.max_schedules:
                        return
                    pair = next(outcomes, None)
                    if pair is None:
                        return  # the spread was asked to stop
                    stalls, outcome = pair
                    self._count(outcome)
                    if outcome.violation is not None:
                        yield stalls
                        continue
                    if goes_deeper:
                        if len(next_frontier) >= FRONTIER_MAX:
                            return
                        next_frontier.append(self._branch(stalls, outcome))
                    yield None
            frontier = next_frontier
        state.is_complete = not self._is_cut

    def _outcomes(
        self, depth: int, frontier: Sequence[SearchBranch], keeps_steps: bool
    ) -> Generator[tuple[Stalls, ScheduleOutcome], None, None]:
        if depth == 0:
            yield (), self._execute(())
            return
        outcomes = self._run_branches(frontier, self._bounds, keeps_steps)
        try:
            for branch in frontier:
                for stalls in schedules_after(branch, self._bounds):
                    outcome = next(outcomes, None)
                    if outcome is None:
                        return
                    yield stalls, outcome
        finally:
            if isinstance(outcomes, Generator):
                outcomes.close()

    def _run_here(
        self, branches: Sequence[SearchBranch], bounds: SearchBounds, keeps_steps: bool
    ) -> Iterator[ScheduleOutcome]:
        for branch in branches:
            for stalls in schedules_after(branch, bounds):
                yield self._execute(stalls)

    def _branch(self, stalls: Stalls, outcome: ScheduleOutcome) -> SearchBranch:
        points = further_points(stalls, outcome)
        return SearchBranch(stalls, tuple(self._points.setdefault(one, one) for one in points))

    def _count(self, outcome: ScheduleOutcome) -> None:
        state = self.state
        state.schedules += 1
        state.done += 1
        state.by_depth[-1] += 1
        state.events += outcome.events
        self._is_cut = self._is_cut or outcome.is_cut


def schedules_after(branch: SearchBranch, bounds: SearchBounds) -> Iterator[Stalls]:
    """Yield all schedules with one stall, crash or lost frame more than ``branch`` has."""
    stalls, crashes, losses = _kinds_after(branch, bounds)
    for point in branch.points:
        if point.is_frame:
            for ms, kind in losses:
                yield (*branch.stalls, Stall(point, ms, kind))
            continue
        # A crashed process has done less than a paused one: it is more informative if both violate something.
        if crashes and point.node in bounds.crash_nodes:
            for ms, kind in crashes:
                yield (*branch.stalls, Stall(point, ms, kind))
        for ms, kind in stalls:
            yield (*branch.stalls, Stall(point, ms, kind))


def count_after(branch: SearchBranch, bounds: SearchBounds) -> int:
    """Return how many schedules :meth:`schedules_after` would yield."""
    stalls, crashes, losses = _kinds_after(branch, bounds)
    frames = sum(point.is_frame for point in branch.points) if bounds.max_losses else 0
    count = (len(branch.points) - frames) * len(stalls) + frames * len(losses)
    if crashes:
        count += sum(point.node in bounds.crash_nodes for point in branch.points) * len(crashes)
    return count


def _kinds_after(branch: SearchBranch, bounds: SearchBounds) -> tuple[list[_Kind], list[_Kind], list[_Kind]]:
    """Return the stalls, crashes and losses that may be added at each point that allows them."""
    crashed = sum(stall.kind is StallKind.CRASH for stall in branch.stalls)
    lost = sum(stall.kind is StallKind.LOSS for stall in branch.stalls)
    stalled = len(branch.stalls) - crashed - lost
    stalls = [(ms, StallKind.HOLD) for ms in bounds.hold_ms] + [(ms, StallKind.PAUSE) for ms in bounds.pause_ms]
    return (
        stalls if stalled < bounds.max_stalls else [],
        [(ms, StallKind.CRASH) for ms in bounds.restart_ms] if crashed < bounds.max_crashes else [],
        [(FOR_EVER_MS, StallKind.LOSS)] if lost < bounds.max_losses else [],
    )


def further_points(stalls: Stalls, outcome: ScheduleOutcome) -> tuple[StepPoint, ...]:
    """Return the points for one more stall; a second stall at a point would only lengthen the first."""
    taken = {stall.point: None for stall in stalls}
    return tuple(point for point in outcome.points[outcome.later :] if point not in taken)
