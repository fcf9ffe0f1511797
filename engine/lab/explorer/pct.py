"""Probabilistic concurrency testing: random schedules, for bugs that are too deep for an exhaustive search.

Burckhardt, Kothari, Musuvathi and Nagarakatte (ASPLOS 2010): every actor gets a random priority, the ready actor with
the highest one runs, and at ``d - 1`` random places the running actor drops to the lowest priority. Here time passes
only when nothing can run, so a lower priority means a pause while the others run: each priority and each change is
written as a stall from the start, and what is found replays like any other schedule. The paper's lower bound for the
chance of success holds for its own scheduler; here it is a guide, not a promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from engine.lab.explorer.search import Execute, SearchState
from engine.lab.explorer.stall import Stall, Stalls, StepPoint

#: An actor of low priority lets the others go first by this much at its first step.
PRIORITY_STEP_MS = 1


class PctSearch:
    """Run ``schedules`` random schedules of depth ``depth``. No frame is lost in them.

    :param hold_ms: how long a stall at a change point lasts.
    """

    def __init__(self, execute: Execute, *, seed: int, schedules: int, depth: int = 3, hold_ms: int = 2_000) -> None:
        assert depth >= 1, "a bug has at least depth 1"
        self._execute = execute
        self._chance = Random(f"{seed}:pct")
        self._schedules = schedules
        self._depth = depth
        self._hold_ms = hold_ms
        self.state = SearchState(depth=depth - 1, planned=schedules, by_depth=[0])

    def run(self) -> Iterator[Stalls | None]:
        """Run the schedules as :meth:`~engine.lab.explorer.search.StallSearch.run` does."""
        state = self.state
        points: tuple[StepPoint, ...] = ()
        for number in range(self._schedules):
            # The first run shows where steps are; each run may have others, so the newest list is used.
            stalls = self._draw(points) if number else ()
            outcome = self._execute(stalls)
            state.schedules += 1
            state.done += 1
            state.by_depth[-1] += 1
            state.events += outcome.events
            points = points or tuple(point for point in outcome.points if not point.is_frame)
            yield tuple(begun.stall for begun in outcome.begun) if outcome.violation is not None else None
        state.is_complete = True

    def _draw(self, points: tuple[StepPoint, ...]) -> Stalls:
        """Return priorities and change points of one schedule, as stalls in the order of their points."""
        if not points:
            return ()
        first: dict[str, int] = {}
        for index, point in enumerate(points):
            first.setdefault(point.actor, index)
        actors = list(first)
        self._chance.shuffle(actors)
        stalls: dict[int, Stall] = {}
        for rank, actor in enumerate(actors):
            if rank:
                stalls[first[actor]] = Stall(points[first[actor]], rank * PRIORITY_STEP_MS)
        for _ in range(min(self._depth - 1, len(points))):
            index = self._chance.randrange(len(points))
            stalls[index] = Stall(points[index], self._hold_ms)
        return tuple(stalls[index] for index in sorted(stalls))
