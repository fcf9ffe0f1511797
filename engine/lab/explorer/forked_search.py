"""A search that forks: each schedule costs only what comes after its last stall.

One process plays the world from its beginning. At each point where a stall, crash or lost frame may be put, it forks:
the child makes the stall and plays on, forking again where one more is allowed; the parent continues as if nothing had
happened. Without forks, :func:`~engine.lab.explorer.stage.execute_on_stage` plays every schedule from the beginning;
the outcomes, and their order, are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from engine.lab.explorer.gated_run import ScheduleOutcome
from engine.lab.explorer.search import RunBranches, SearchBounds, SearchBranch, schedules_after
from engine.lab.explorer.stage import StageSetting, outcome_on_stage
from engine.lab.explorer.stall import Stall, Stalls, StepPoint
from engine.lab.run.process_tree import ProcessTree, TreeBranch
from engine.lab.run.spread import in_order, silence_logging
from engine.lab.world.world import ScenarioWorld


@dataclass(slots=True)
class StallTree:
    """A tree of schedules with common beginnings.

    :ivar place: index of the wanted schedule that ends here; None: it is only a prefix of others.
    :ivar further: the stalls that begin at a point, each with its subtree.
    """

    place: int | None = None
    further: dict[StepPoint, list[tuple[Stall, StallTree]]] = field(default_factory=dict)

    def add(self, stalls: Stalls, place: int) -> None:
        """Add a schedule."""
        tree = self
        for stall in stalls:
            at_point = tree.further.setdefault(stall.point, [])
            tree = next((below for known, below in at_point if known == stall), None) or _added(at_point, stall)
        tree.place = place


def _added(at_point: list[tuple[Stall, StallTree]], stall: Stall) -> StallTree:
    tree = StallTree()
    at_point.append((stall, tree))
    return tree


class ForkingStalls:
    """A :class:`~engine.lab.explorer.gated_run.StallSource` that forks.

    :ivar tree: what follows in this process.
    """

    def __init__(self, tree: StallTree, branch: TreeBranch) -> None:
        self.tree = tree
        self._branch = branch

    def stall_at(self, point: StepPoint) -> Stall | None:
        """Fork for each stall that begins here; it takes effect in the child."""
        for stall, below in self.tree.further.get(point, ()):
            if self._branch.fork():
                self.tree = below
                return stall
        return None


class PlacedOutcome(NamedTuple):
    """An outcome, and the index of its schedule."""

    place: int
    outcome: ScheduleOutcome


def forked_branches(processes: ProcessTree, setting: StageSetting) -> RunBranches:
    """Return the function with which :class:`~engine.lab.explorer.search.StallSearch` runs its schedules."""

    def run(branches: Sequence[SearchBranch], bounds: SearchBounds, keeps_steps: bool) -> Iterator[ScheduleOutcome]:
        tree = StallTree()
        schedules = chain.from_iterable(schedules_after(branch, bounds) for branch in branches)
        for place, stalls in enumerate(schedules):
            tree.add(stalls, place)

        def work(branch: TreeBranch) -> None:
            _play(setting, tree, branch, keeps_steps)

        with closing(processes.grow(work)) as coming:
            yield from in_order(result for result in coming if isinstance(result, PlacedOutcome))

    return run


def _play(setting: StageSetting, tree: StallTree, branch: TreeBranch, keeps_steps: bool) -> None:
    """Play the world; every process of the tree reaches the end of this with its own outcome."""
    silence_logging()
    stalls = ForkingStalls(tree, branch)
    outcome = outcome_on_stage(setting, ScenarioWorld(setting.scenario, setting.seed), stalls)
    place = stalls.tree.place
    if place is None:
        return
    if outcome.violation is None and not keeps_steps:
        outcome = replace(outcome, steps=(), begun=(), commands=())  # not needed, and costly to transport
    branch.report(PlacedOutcome(place, outcome))
