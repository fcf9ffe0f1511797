"""An exploration: search, shorten what was found, and describe it.

    exploration = Exploration(plan)
    for _ in exploration.steps():
        print(exploration.state.search.schedules)
    exploration.state.finding

It runs in any process and at any pace: each step is one schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from engine.lab.checkers.watch.violation import Violation
from engine.lab.explorer.captions import caption_of, meanwhile, step_name
from engine.lab.explorer.forked_search import forked_branches
from engine.lab.explorer.gated_run import ScheduleOutcome
from engine.lab.explorer.pct import PctSearch
from engine.lab.explorer.search import RunBranches, SearchBounds, SearchState, StallSearch
from engine.lab.explorer.shrink import ddmin, shorten
from engine.lab.explorer.spread_search import spread_branches
from engine.lab.explorer.stage import StageSetting, execute_on_stage, replay, violation_of
from engine.lab.explorer.stall import Stall, Stalls
from engine.lab.run.process_tree import ProcessTree
from engine.lab.run.run import LabRun
from engine.lab.run.spread import Spread
from engine.lab.scenario.errors import LabError
from engine.runtime.state_table import successor

#: Most further violations at the end that are reported.
LATER_MAX = 3
#: Virtual time from the position of a finding's link to its first stall.
LEAD_US = 100_000


class SearchPhase(StrEnum):
    """Phase of an exploration."""

    SEARCHING = "searching"
    SHRINKING = "shrinking"
    DONE = "done"


#: Phase -> the phases that may follow. Several findings may be shrunk before one of them is confirmed.
_NEXT: dict[SearchPhase, tuple[SearchPhase, ...]] = {
    SearchPhase.SEARCHING: (SearchPhase.SHRINKING, SearchPhase.DONE),
    SearchPhase.SHRINKING: (SearchPhase.SEARCHING, SearchPhase.DONE),
}


@dataclass(frozen=True, slots=True)
class ExplorationPlan:
    """The plan of a search.

    :ivar random_schedules: how many schedules of :class:`PctSearch` follow if the bounded search found nothing.
    """

    setting: StageSetting
    bounds: SearchBounds
    random_schedules: int = 0


class CaptionedStall(NamedTuple):
    """One stall of a counterexample: after event ``event`` of the stage's run, with its caption."""

    stall: Stall
    event: int
    time_us: int
    caption: Mapping[str, str]
    meanwhile: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the stall and its caption as JSON."""
        point = self.stall.point
        return {
            "actor": point.actor,
            "label": dict(step_name(point.label)),
            "occurrence": point.occurrence,
            "ms": self.stall.ms,
            "kind": self.stall.kind.value,
            "event": self.event,
            "time_us": self.time_us,
            "caption": dict(self.caption),
            "meanwhile": dict(self.meanwhile),
        }


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A schedule that violates an invariant, as small as possible, with the links that replay it.

    :ivar link: leads to the run just before its first stall; played on, it makes the stalls and stops at the violation.
    :ivar end_link: leads to the violation.
    :ivar later: further violations if the run is played to its end; only if the search looks that far.
    """

    holds: tuple[CaptionedStall, ...]
    violation: Violation
    link: str
    end_link: str
    later: tuple[Violation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the counterexample as JSON."""
        return {
            "holds": [hold.to_dict() for hold in self.holds],
            "violation": self.violation.to_dict(),
            "link": self.link,
            "end_link": self.end_link,
            "later": [violation.to_dict() for violation in self.later],
        }


@dataclass(slots=True)
class ExplorationState:
    """Progress of an exploration.

    :ivar search: the search in progress.
    :ivar tried_on_stage: the schedule that was found, and the smaller schedules tried in its place.
    :ivar unconfirmed: schedules with a violation that their recordings do not repeat.
    :ivar bounded: the search of all schedules within the bounds, the same as ``search`` or finished before it.
    """

    search: SearchState
    phase: SearchPhase = SearchPhase.SEARCHING
    is_random: bool = False
    tried_on_stage: int = 0
    unconfirmed: int = 0
    finding: Counterexample | None = None
    bounded: SearchState = field(default_factory=SearchState)

    def move(self, phase: SearchPhase) -> None:
        """Change the phase. Raises :class:`~engine.runtime.state_table.IllegalStateChange`."""
        self.phase = successor(_NEXT, self.phase, phase, "an exploration")

    @property
    def is_complete(self) -> bool:
        """Return whether every schedule within the bounds was run. No stall is added to a schedule with a violation, so
        this is False if one was not confirmed.
        """
        return self.bounded.is_complete and not self.unconfirmed

    def to_dict(self) -> dict[str, Any]:
        """Return the progress as JSON for display."""
        search = self.search
        return {
            "phase": self.phase.value,
            "schedules": search.schedules,
            "events": search.events,
            "depth": search.depth,
            "done": search.done,
            "planned": search.planned,
            "by_depth": list(search.by_depth),
            "is_complete": self.is_complete,
            "is_random": self.is_random,
            "tried_on_stage": self.tried_on_stage,
            "unconfirmed": self.unconfirmed,
            "finding": self.finding.to_dict() if self.finding is not None else None,
        }


class Exploration:
    """Explore a plan.

    :ivar state: progress of the exploration.
    :param forks: processes that run the schedules of the bounded search, each from its last stall on.
    :param spread: runs the schedules from the beginning on, if there are no forks; None: this process. The findings and
        their order are the same.
    """

    def __init__(
        self, plan: ExplorationPlan, *, forks: ProcessTree | None = None, spread: Spread | None = None
    ) -> None:
        self.plan = plan
        elsewhere: RunBranches | None = None
        if forks is not None:
            elsewhere = forked_branches(forks, plan.setting)
        elif spread is not None:
            elsewhere = spread_branches(spread, plan.setting)
        self._bounded = StallSearch(self._execute, plan.bounds, elsewhere)
        self.state = ExplorationState(self._bounded.state, bounded=self._bounded.state)

    def steps(self) -> Iterator[None]:
        """Continue; yields after every schedule. Ends with the first counterexample, or when everything is searched."""
        yield from self._search(self._bounded)
        if self.state.finding is None and self.plan.random_schedules:
            hold_ms = max(self.plan.bounds.hold_ms, default=1_000)
            seed = self.plan.setting.seed
            search = PctSearch(self._execute, seed=seed, schedules=self.plan.random_schedules, hold_ms=hold_ms)
            self.state.search, self.state.is_random = search.state, True
            yield from self._search(search)
        self.state.move(SearchPhase.DONE)

    def _execute(self, stalls: Stalls) -> ScheduleOutcome:
        return execute_on_stage(self.plan.setting, stalls)

    def _is_broken(self, stalls: Stalls) -> bool:
        self.state.tried_on_stage += 1
        return self._execute(stalls).violation is not None

    def _search(self, search: StallSearch | PctSearch) -> Iterator[None]:
        for found in search.run():
            yield
            if found is None:
                continue
            self.state.move(SearchPhase.SHRINKING)
            self.state.tried_on_stage += 1
            yield from self._report(found)
            if self.state.finding is not None:
                return
            self.state.unconfirmed += 1
            self.state.move(SearchPhase.SEARCHING)

    # --- findings ----------------------------------------------------------------------------------------------------

    def _report(self, stalls: Stalls) -> Iterator[None]:
        fewer = ddmin(stalls, self._is_broken)
        yield
        small = shorten(fewer, self._is_broken)
        yield
        for candidate in dict.fromkeys((small, fewer, stalls)):
            self.state.finding = self._counterexample(candidate)
            yield
            if self.state.finding is not None:
                return

    def _counterexample(self, stalls: Stalls) -> Counterexample | None:
        """Return the counterexample of ``stalls`` by their recording; None if that violates nothing."""
        setting = self.plan.setting
        outcome = self._execute(stalls)
        try:
            with replay(setting, outcome.commands) as run:
                violation = violation_of(run, setting.wanted)
                if violation is None:
                    return None
                holds = tuple(
                    CaptionedStall(
                        begun.stall,
                        begun.event,
                        begun.time_us,
                        caption_of(begun.stall),
                        meanwhile(run, begun.stall, begun.time_us),
                    )
                    for begun in outcome.begun
                )
                link, end_link = self._link_before(run, outcome), run.link()
                return Counterexample(holds, violation, link, end_link, self._broken_later(run, violation))
        except LabError:
            return None

    def _broken_later(self, run: LabRun, first: Violation) -> tuple[Violation, ...]:
        """Play ``run`` to the end and return further violations."""
        setting = self.plan.setting
        if setting.look_until_us is None:
            return ()
        run.stops_at_violations = False
        run.run_to_time(setting.look_until_us)
        counted = [one for one in run.violations if one.checker in setting.wanted and one != first]
        return tuple(counted[:LATER_MAX])

    def _link_before(self, run: LabRun, outcome: ScheduleOutcome) -> str:
        """Return a link to a moment before the first stall, or to the beginning of the window."""
        first_us = min((begun.time_us for begun in outcome.begun), default=self.plan.setting.begin_us)
        with LabRun(run.scenario, run.seed, run.commands, check=False) as start:
            if first_us > LEAD_US:
                start.run_to_time(first_us - LEAD_US)
            return start.link(later=run.commands[len(start.commands) :])
