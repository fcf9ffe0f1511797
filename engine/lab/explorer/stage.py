"""Runs schedules on the stage: the whole cluster of a scenario, from its first event on.

This is what a person sees, so whatever is found counts only when it happens here, under the checkers of the lab, as a
recording of ordinary commands.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from engine.lab.checkers import CheckerSet, Violation
from engine.lab.command import Command
from engine.lab.explorer.gated_run import GatedRun, Outcome, PlannedCommand, Watch
from engine.lab.explorer.order_watch import OrderWatch
from engine.lab.explorer.stall import Stalls
from engine.lab.faults import apply_command
from engine.lab.recording import TimedCommand
from engine.lab.run import LabRun
from engine.lab.scenario import Role, Scenario
from engine.lab.world import ScenarioWorld

#: What is searched for unless something else is asked for.
ORDER_CHECKERS = ("one-consumption-per-queue", "order-per-queue", "no-call-after-takeover")


@dataclasses.dataclass(frozen=True, slots=True)
class StageSetting:
    """What all schedules of a search have in common.

    :ivar commands: what is done to the world in every schedule, in the order of time.
    :ivar begin_us, end_us: the window: no stall before it, nothing looked at after it.
    :ivar wanted: names of the checkers whose violations count.
    """

    scenario: Scenario
    seed: int
    commands: tuple[PlannedCommand, ...]
    begin_us: int
    end_us: int
    wanted: tuple[str, ...] = ORDER_CHECKERS

    @property
    def nodes(self) -> tuple[str, ...]:
        """Whose steps are watched: the consumers'."""
        return tuple(spec.name for spec in self.scenario.of_role(Role.CONSUMER))

    @property
    def messages(self) -> int:
        """How many messages the scenario sends."""
        return sum(traffic.count for spec in self.scenario.of_role(Role.PRODUCER) for traffic in spec.traffic)


def execute_on_stage(setting: StageSetting, stalls: Stalls) -> Outcome:
    """Run one schedule."""
    with ScenarioWorld(setting.scenario, setting.seed) as world:

        def apply(command: Command) -> None:
            apply_command(world, command)

        run = GatedRun(
            world.lab.loop,
            setting.nodes,
            stalls,
            apply=apply,
            watch=_watch(setting, world),
            plan=setting.commands,
        )
        return run.run(setting.begin_us, setting.end_us)


#: Commands under which an end of a listener call says all that the light watch must know of it.
_WATCHED_LIGHTLY = (
    "hold",
    "release",
    "pause-node",
    "resume-node",
    "lock-switch",
    "forced-unlock",
    "listener",
    "queue-count",
)


def is_watched_lightly(setting: StageSetting) -> bool:
    """Whether :class:`OrderWatch` is enough: all consume in order, each queue has one owner, nobody dies with a message
    in hand, no message is left out or put aside."""
    scenario = setting.scenario
    kinds = [planned.command.kind for planned in setting.commands] + [line.command.kind for line in scenario.script]
    return (
        setting.wanted == ORDER_CHECKERS
        and all(kind in _WATCHED_LIGHTLY for kind in kinds)
        and all(
            spec.orderly
            and spec.model == "clustering"
            and spec.expression == "*"
            and spec.stop_ms is None
            and spec.settings.get("max_reconsume_times", -1) == -1
            for spec in scenario.of_role(Role.CONSUMER)
        )
    )


def _watch(setting: StageSetting, world: ScenarioWorld) -> Watch:
    """The light watch where it will do, else the checkers."""
    if is_watched_lightly(setting):
        return OrderWatch(world, setting.messages)
    return CheckerWatch(setting, world)


class CheckerWatch:
    """Implements :class:`Watch` with the checkers of the lab. They want the whole window: something may be missing."""

    def __init__(self, setting: StageSetting, world: ScenarioWorld) -> None:
        world.scenario = dataclasses.replace(setting.scenario, invariants=setting.wanted)
        self._checkers = CheckerSet(world)
        self._loop = world.lab.loop
        self._found: Violation | None = None

    def has_news(self) -> object:
        """Whether the last event broke something."""
        found = self._checkers.after_event(self._loop.event_number)
        if found:
            self._found = found[0]
        return self._found

    def look(self) -> Violation | None:
        """It, if so."""
        return self._found

    def is_done(self) -> bool:
        """Never."""
        return False


def replay(setting: StageSetting, commands: Sequence[TimedCommand]) -> LabRun:
    """The run of these commands under all checkers, stopped at the first violation that counts, or at the end."""
    run = LabRun(setting.scenario, setting.seed, commands)
    run.stops_at_violations = True
    while True:
        ran = run.run_to_time(setting.end_us)
        violation = run.stopped_by
        if ran == 0 or not isinstance(violation, Violation) or violation.checker in setting.wanted:
            return run


def violation_of(run: LabRun, wanted: Sequence[str]) -> Violation | None:
    """The first violation of ``run`` that counts."""
    return next((violation for violation in run.violations if violation.checker in wanted), None)
