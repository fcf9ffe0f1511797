"""Runs schedules on the stage: the whole cluster of a scenario, from its first event on.

This is what a person sees, so whatever is found counts only when it happens here, under the checkers of the lab, as a
recording of ordinary commands.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from engine.lab.checkers import CheckerSet, Violation
from engine.lab.explorer.gated_run import GatedRun, Outcome, PlannedCommand, Watch
from engine.lab.explorer.order_watch import OrderWatch
from engine.lab.explorer.stall import Stalls
from engine.lab.run.recording import TimedCommand
from engine.lab.run.run import LabRun
from engine.lab.scenario.listener_spec import BatchAck
from engine.lab.scenario.scenario import Command, Role, Scenario
from engine.lab.world.faults import apply_command, follow_script
from engine.lab.world.world import ScenarioWorld

#: What is searched for where messages are consumed in order.
ORDER_CHECKERS = ("one-consumption-per-queue", "order-per-queue", "no-call-after-takeover")
#: What is searched for where banks send each other money, or messages are sent in transactions.
TRANSFER_CHECKERS = (
    "no-money-from-nowhere",
    "money-is-conserved",
    "no-half-message-consumed",
    "half-messages-are-decided",
    "xa-branches-agree",
)
#: Nodes without steps.
SERVERS = (Role.NAME_SERVER, Role.BROKER)


@dataclasses.dataclass(frozen=True, slots=True)
class StageSetting:
    """What all schedules of a search have in common.

    :ivar commands: what is done to the world in every schedule, in the order of time.
    :ivar begin_us, end_us: the window: no stall begins before or after it.
    :ivar wanted: names of the checkers whose violations count.
    :ivar look_until_us: until when a run is looked at; None: to the end of the window.
    :ivar crash_nodes: those that the search may crash.
    :ivar settings: ``setting`` commands, already written into ``scenario``.
    :ivar source: the scenario without ``settings``: what a link names.
    """

    scenario: Scenario
    seed: int
    commands: tuple[PlannedCommand, ...]
    begin_us: int
    end_us: int
    wanted: tuple[str, ...] = ORDER_CHECKERS
    look_until_us: int | None = None
    crash_nodes: tuple[str, ...] = ()
    settings: tuple[Command, ...] = ()
    source: Scenario | None = None

    @property
    def nodes(self) -> tuple[str, ...]:
        """Whose steps are watched: where order is searched for, the consumers'; else those of all clients."""
        if self.wanted == ORDER_CHECKERS:
            return tuple(spec.name for spec in self.scenario.of_role(Role.CONSUMER))
        return tuple(spec.name for spec in self.scenario.nodes if spec.role not in SERVERS)

    @property
    def last_us(self) -> int:
        """When a run is over."""
        return self.end_us if self.look_until_us is None else self.look_until_us

    @property
    def messages(self) -> int:
        """How many messages the scenario sends."""
        return sum(traffic.count for spec in self.scenario.of_role(Role.PRODUCER) for traffic in spec.traffic)


def execute_on_stage(setting: StageSetting, stalls: Stalls) -> Outcome:
    """Run one schedule."""
    with ScenarioWorld(setting.scenario, setting.seed) as world:
        follow_script(world)

        def apply(command: Command) -> None:
            apply_command(world, command)

        watch = _watch(setting, world)
        run = GatedRun(
            world.lab.loop,
            setting.nodes,
            stalls,
            apply=apply,
            watch=watch,
            plan=setting.commands,
        )
        outcome = run.run(setting.begin_us, setting.end_us, setting.last_us)
        if outcome.violation is None and isinstance(watch, CheckerWatch) and world.is_over:
            return dataclasses.replace(outcome, violation=watch.at_end())
        return outcome


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
        and not setting.crash_nodes
        and all(kind in _WATCHED_LIGHTLY for kind in kinds)
        and all(
            spec.orderly
            and spec.model == "clustering"
            and spec.expression == "*"
            and spec.stop_ms is None
            and spec.settings.get("max_reconsume_times", -1) == -1
            and spec.listener.batch_ack is not BatchAck.DROP_FAILED
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

    def at_end(self) -> Violation | None:
        """What is missing when the story is over."""
        found = self._checkers.at_end()
        return found[0] if found else None


def replay(setting: StageSetting, commands: Sequence[TimedCommand]) -> LabRun:
    """The run of these commands under all checkers, stopped at the first violation that counts, or at the end."""
    settings = [TimedCommand(0, 0, command) for command in setting.settings]
    run = LabRun(setting.source or setting.scenario, setting.seed, [*settings, *commands])
    run.stops_at_violations = True
    while True:
        ran = run.run_to_time(setting.last_us)
        violation = run.stopped_by
        if ran == 0 or not isinstance(violation, Violation) or violation.checker in setting.wanted:
            return run


def violation_of(run: LabRun, wanted: Sequence[str]) -> Violation | None:
    """The first violation of ``run`` that counts."""
    return next((violation for violation in run.violations if violation.checker in wanted), None)
