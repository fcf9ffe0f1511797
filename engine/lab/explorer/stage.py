"""Runs of schedules on the stage: the whole cluster of a scenario, from its first event on, with the lab's checkers.

This is what a user sees: a recording of ordinary commands repeats whatever is found here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial

from engine.lab.checkers import CheckerSet, Violation
from engine.lab.explorer.gated_run import GatedRun, PlannedStalls, ScheduledCommand, ScheduleOutcome, StallSource
from engine.lab.explorer.lost_frames import FrameObserver
from engine.lab.explorer.stall import Stalls
from engine.lab.run.gc_pause import with_gc_paused
from engine.lab.run.recording import TimedCommand
from engine.lab.run.run import LabRun
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.scenario import Command, Scenario
from engine.lab.world.faults import apply_command, follow_script
from engine.lab.world.world import ScenarioWorld

#: Checkers for a search in scenarios with orderly consumption.
ORDER_CHECKERS = ("one-consumption-per-queue", "order-per-queue", "no-call-after-takeover")
#: Checkers for a search in scenarios with transfers between banks, or with transactional messages.
TRANSFER_CHECKERS = (
    "no-money-from-nowhere",
    "money-is-conserved",
    "no-half-message-consumed",
    "half-messages-are-decided",
    "xa-branches-agree",
)
#: Checkers for a search in scenarios whose messages request work.
WORK_CHECKERS = ("work-done-once", "acknowledged-work-is-done")


@dataclasses.dataclass(frozen=True, slots=True)
class StageSetting:
    """The settings that all schedules of a search share.

    :ivar commands: commands in every schedule, in the order of time.
    :ivar begin_us, end_us: the window: no stall begins before or after it.
    :ivar wanted: names of the checkers whose violations count.
    :ivar look_until_us: until when a run is looked at; None: to the end of the window.
    :ivar crash_nodes: those that the search may crash.
    :ivar lost_frames: names of the frames that the search may lose; empty: it loses none.
    :ivar settings: ``setting`` commands, already written into ``scenario``.
    :ivar source: the scenario without ``settings``: what a link names.
    """

    scenario: Scenario
    seed: int
    commands: tuple[ScheduledCommand, ...]
    begin_us: int
    end_us: int
    wanted: tuple[str, ...] = ORDER_CHECKERS
    look_until_us: int | None = None
    crash_nodes: tuple[str, ...] = ()
    lost_frames: tuple[str, ...] = ()
    settings: tuple[Command, ...] = ()
    source: Scenario | None = None

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes whose steps are watched: if order is searched for, the consumers; otherwise all clients."""
        if self.wanted == ORDER_CHECKERS:
            return tuple(spec.name for spec in self.scenario.of_kind(ConsumerSpec))
        return tuple(spec.name for spec in self.scenario.nodes if spec.has_steps)

    @property
    def last_us(self) -> int:
        """Return when a run is over."""
        return self.end_us if self.look_until_us is None else self.look_until_us

    @property
    def consumptions(self) -> int:
        """Return how many messages the groups consume together, if each of them wants all."""
        groups = {spec.group: None for spec in self.scenario.of_kind(ConsumerSpec)}
        traffics = [traffic for spec in self.scenario.of_kind(ProducerSpec) for traffic in spec.traffic]
        return len(groups) * sum(traffic.count for traffic in traffics)


@with_gc_paused
def execute_on_stage(setting: StageSetting, stalls: Stalls) -> ScheduleOutcome:
    """Run one schedule."""
    with ScenarioWorld(setting.scenario, setting.seed) as world:
        return outcome_on_stage(setting, world, PlannedStalls(stalls))


def outcome_on_stage(setting: StageSetting, world: ScenarioWorld, stalls: StallSource) -> ScheduleOutcome:
    """Run a schedule on ``world``, which must be at its beginning."""
    # The journal is not needed here; a finding is replayed with one.
    world.lab.stop_journal()
    follow_script(world)
    watch = CheckerWatch(setting, world)
    apply = partial(apply_command, world)
    run = GatedRun(world.loop, setting.nodes, stalls, apply=apply, watch=watch, plan=setting.commands)
    if setting.lost_frames:
        observer = FrameObserver(world.witness.frames, setting.lost_frames, run.frame_leaves)
        world.lab.network.faults.insert(0, observer)
    outcome = run.run(setting.begin_us, setting.end_us, setting.last_us)
    if outcome.violation is None and world.is_over:
        return dataclasses.replace(outcome, violation=watch.at_end())
    return outcome


#: Commands after which no consumed message is consumed again.
_HARMLESS = (
    "hold",
    "release",
    "pause-node",
    "resume-node",
    "lock-switch",
    "group-lock",
    "forced-unlock",
    "listener",
    "queue-count",
)


def ends_when_consumed(setting: StageSetting) -> bool:
    """Return whether nothing can be violated any more once all messages are consumed: one member at a time gets each,
    no process dies, and no frame is lost.
    """
    scenario = setting.scenario
    kinds = [planned.command.kind for planned in setting.commands] + [line.command.kind for line in scenario.script]
    return (
        setting.wanted == ORDER_CHECKERS
        and not setting.crash_nodes
        and not setting.lost_frames
        and all(kind in _HARMLESS for kind in kinds)
        and all(
            spec.orderly and spec.model == "clustering" and spec.stop_ms is None
            for spec in scenario.of_kind(ConsumerSpec)
        )
    )


class CheckerWatch:
    """A :class:`~engine.lab.explorer.gated_run.Watch` with the lab's checkers."""

    def __init__(self, setting: StageSetting, world: ScenarioWorld) -> None:
        world.scenario = dataclasses.replace(setting.scenario, invariants=setting.wanted)
        self._checkers = CheckerSet(world)
        self._after_event = self._checkers.after_event
        self._loop = world.loop
        self._deliveries = world.witness.deliveries
        self._ended = 0
        self._consumed: dict[tuple[str, str, str, int, int], None] = {}
        #: Number of expected consumptions; None: the run is watched to its end.
        self._wanted = setting.consumptions if ends_when_consumed(setting) else None
        self._found: Violation | None = None

    def has_news(self) -> object:
        """Return whether the last event violated something, or a listener call has ended."""
        found = self._after_event(self._loop.event_number)
        if found:
            self._found = found[0]
        return self._found or len(self._deliveries.ended()) != self._ended

    def look(self) -> Violation | None:
        """Return the violation."""
        ended = self._deliveries.ended()
        self._consumed |= {(one.began.group, *one.place): None for one in ended[self._ended :] if one.is_done}
        self._ended = len(ended)
        return self._found

    def is_done(self) -> bool:
        """Return whether each group has consumed every message, and no listener call is in progress."""
        return len(self._consumed) == self._wanted and len(self._deliveries.all()) == self._ended

    def at_end(self) -> Violation | None:
        """Return what is missing when the story is over."""
        found = self._checkers.at_end()
        return found[0] if found else None


def replay(setting: StageSetting, commands: Sequence[TimedCommand]) -> LabRun:
    """Return the run of these commands under all checkers, stopped at the first violation that counts, or at the
    end.
    """
    settings = [TimedCommand(0, 0, command) for command in setting.settings]
    run = LabRun(setting.source or setting.scenario, setting.seed, [*settings, *commands])
    run.stops_at_violations = True
    while True:
        ran = run.run_to_time(setting.last_us)
        violation = run.stopped_by
        if ran == 0 or not isinstance(violation, Violation) or violation.checker in setting.wanted:
            return run


def violation_of(run: LabRun, wanted: Sequence[str]) -> Violation | None:
    """Return the first violation of ``run`` that counts."""
    return next((violation for violation in run.violations if violation.checker in wanted), None)
