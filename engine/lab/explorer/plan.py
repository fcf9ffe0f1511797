"""Plan of a search from a user's request: which locks are off, how many stalls, crashes and lost frames, which part of
the story.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.faults.frame_subject import REPLY
from engine.lab.checkers import CHECKERS
from engine.lab.explorer.exploration import ExplorationPlan
from engine.lab.explorer.gated_run import ScheduledCommand
from engine.lab.explorer.lost_frames import LOST_FRAMES
from engine.lab.explorer.search import SearchBounds
from engine.lab.explorer.stage import ORDER_CHECKERS, TRANSFER_CHECKERS, WORK_CHECKERS, StageSetting
from engine.lab.explorer.stall import FOR_EVER_MS
from engine.lab.scenario.command import FRAME_NAMES, parse_command
from engine.lab.scenario.errors import LabError
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.node_spec import NodeSpec, SettingValue
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.scenario import Command, Scenario
from engine.lab.scenario.switches import IDEMPOTENT_CONSUMER, SWITCHES
from engine.texts import Text

#: Bounds of a request.
STALLS_MAX = 3
CRASHES_MAX = 2
LOSSES_MAX = 2
DURATIONS_MAX = 4
HOLD_MS_MAX = 600_000
SCHEDULES_MAX = 5_000_000
#: Default duration of a stall: longer than the second for which a rebalance waits for the consume lock, and than the
#: timers of a scenario made for the search.
DEFAULT_HOLD_MS = 2_000
#: Default number of stalls of a schedule if order is searched for; and if money is, besides one crash.
DEFAULT_ORDER_STALLS = 2
DEFAULT_MONEY_STALLS = 1
#: Default delay from a crash to the restart of the process.
DEFAULT_RESTART_MS = 2_000
#: Shortest window, besides the stalls, for late actors.
_TAIL_MS = 5_000
#: If money is searched for, stalls begin until this long after the last transfer was sent, plus the stalls themselves.
_MONEY_TAIL_MS = 1_000
#: If frames are lost, the window is this much longer: a consumer commits its progress every 5 s.
_LOSS_TAIL_MS = 6_000
#: Kinds of nodes by the words that select several nodes.
_SEVERAL: Mapping[str, type[NodeSpec]] = {"producers": ProducerSpec, "consumers": ConsumerSpec}


class ExplorationRefused(LabError):
    """A request that cannot be searched."""


@dataclass(frozen=True, slots=True)
class ExplorationRequest:
    """The request for a search. None means the default for this scenario.

    :ivar seed: None: the scenario's.
    :ivar without: names of :data:`~engine.lab.scenario.switches.SWITCHES` that are off.
    :ivar max_stalls: how many holds and pauses one schedule has at most; None: two where order is searched for, one
        where money is.
    :ivar hold_ms: durations of stalls of single actors; empty with ``pause_ms``: none; empty without: 2 s.
    :ivar pause_ms: durations of stalls of whole nodes.
    :ivar max_crashes: how many crashes one schedule has at most, besides the stalls; None: one where money is searched
        for or ``crash`` names a node, else none.
    :ivar crash: who may crash: names of nodes, ``producers``, ``consumers``; empty: producers and consumers.
    :ivar restart_ms: how long after its crash a process starts again; 0: never; empty: 2 s.
    :ivar max_losses: how many frames one schedule loses at most, besides the stalls; None: one where ``lose`` names
        some, else none.
    :ivar lose: names of the frames that may be lost, as ``drop-next`` has them; empty: those of
        :data:`~engine.lab.explorer.lost_frames.LOST_FRAMES`.
    :ivar forced_unlocks: (virtual ms, consumer, queue id).
    :ivar from_ms, to_ms: the window in which stalls begin; None: from the start of the last consumer on, until all
        stalls can be over; where money is searched for: from the first message on, until a while after the last one;
        6 s longer where frames are lost.
    :ivar settings: (node, name, value): settings that count from the beginning, checked already.
    :ivar switched: more switches, of single nodes and groups, checked already: locks of nodes count from the beginning,
        those of groups, which a running broker keeps, from ``from_ms`` on.
    """

    scenario: Scenario
    seed: int | None = None
    without: tuple[str, ...] = ()
    max_stalls: int | None = None
    hold_ms: tuple[int, ...] = ()
    pause_ms: tuple[int, ...] = ()
    max_crashes: int | None = None
    crash: tuple[str, ...] = ()
    restart_ms: tuple[int, ...] = ()
    max_losses: int | None = None
    lose: tuple[str, ...] = ()
    forced_unlocks: tuple[tuple[int, str, int], ...] = ()
    from_ms: int | None = None
    to_ms: int | None = None
    settings: tuple[tuple[str, str, SettingValue], ...] = ()
    switched: tuple[Command, ...] = ()
    random_schedules: int = 0
    max_schedules: int = 1_000_000


def searched_checkers(scenario: Scenario) -> tuple[str, ...]:
    """Return the checkers whose violations a search of ``scenario`` looks for; empty: there is nothing to search
    for.
    """
    found = tuple(name for name in (*TRANSFER_CHECKERS, *WORK_CHECKERS) if CHECKERS[name].applies(scenario))
    if found:
        return found
    return ORDER_CHECKERS if any(spec.orderly for spec in scenario.of_kind(ConsumerSpec)) else ()


def useful_switches(scenario: Scenario) -> tuple[str, ...]:
    """Return names of the switches that affect what a search of ``scenario`` looks for."""
    if searched_checkers(scenario) == ORDER_CHECKERS:
        return tuple(name for name in SWITCHES if name != IDEMPOTENT_CONSUMER)
    return (IDEMPOTENT_CONSUMER,) if any(spec.bank for spec in scenario.of_kind(ConsumerSpec)) else ()


def make_plan(request: ExplorationRequest) -> ExplorationPlan:
    """Return the plan. Raises :class:`ExplorationRefused`, ``CommandRefused``."""
    scenario = request.scenario
    wanted = searched_checkers(scenario)
    if not wanted:
        raise ExplorationRefused("refusal.nothing_to_search", scenario=scenario.name)
    _check_names(request)
    bounds = _bounds(request, wanted)
    begin_us, end_us = _window(request, bounds, wanted)
    is_order = wanted == ORDER_CHECKERS
    setting = StageSetting(
        scenario=_with_settings(scenario, request.settings),
        seed=scenario.seed if request.seed is None else request.seed,
        commands=tuple(_commands(request, begin_us)),
        begin_us=begin_us,
        end_us=end_us,
        wanted=wanted,
        # What is missing at the end shows only there; and a lost frame may be awaited for a long time.
        look_until_us=None if is_order and not bounds.max_losses else scenario.duration_ms * 1_000,
        crash_nodes=bounds.crash_nodes,
        lost_frames=_lost_frames(request) if bounds.max_losses else (),
        settings=tuple(_setting(*one) for one in request.settings),
        source=scenario,
    )
    return ExplorationPlan(setting, bounds, request.random_schedules)


def _check_names(request: ExplorationRequest) -> None:
    for name in request.without:
        if name not in SWITCHES:
            raise ExplorationRefused("refusal.no_switch", name=name, known=", ".join(SWITCHES))
    consumers = request.scenario.of_kind(ConsumerSpec)
    for _, name, _ in request.forced_unlocks:
        if all(spec.name != name for spec in consumers):
            raise ExplorationRefused("refusal.no_node", name=name, known=", ".join(spec.name for spec in consumers))


# --- amounts ---------------------------------------------------------------------------------------------------------


def _bounds(request: ExplorationRequest, wanted: tuple[str, ...]) -> SearchBounds:
    is_order = wanted == ORDER_CHECKERS
    hold_ms = request.hold_ms or (() if request.pause_ms else (DEFAULT_HOLD_MS,))
    max_stalls, max_crashes = request.max_stalls, request.max_crashes
    if max_stalls is None:
        max_stalls = DEFAULT_ORDER_STALLS if is_order else DEFAULT_MONEY_STALLS
    if max_crashes is None:
        max_crashes = 0 if is_order and not request.crash else 1
    max_losses = int(bool(request.lose)) if request.max_losses is None else request.max_losses
    _within("max_stalls", max_stalls, 0, STALLS_MAX)
    _within("max_crashes", max_crashes, 0, CRASHES_MAX)
    _within("max_losses", max_losses, 0, LOSSES_MAX)
    for ms in (*hold_ms, *request.pause_ms):
        _within("ms", ms, 1, HOLD_MS_MAX)
    for ms in request.restart_ms:
        _within("restart_ms", ms, FOR_EVER_MS, HOLD_MS_MAX)
    _within("durations", len(hold_ms) + len(request.pause_ms), 1, DURATIONS_MAX)
    _within("restart durations", len(request.restart_ms), 0, DURATIONS_MAX)
    _within("schedules", request.max_schedules, 1, SCHEDULES_MAX)
    _within("random schedules", request.random_schedules, 0, SCHEDULES_MAX)
    return SearchBounds(
        max_stalls,
        hold_ms,
        request.pause_ms,
        request.max_schedules,
        max_crashes,
        _crash_nodes(request) if max_crashes else (),
        (request.restart_ms or (DEFAULT_RESTART_MS,)) if max_crashes else (),
        max_losses,
    )


def crashable_nodes(scenario: Scenario) -> tuple[str, ...]:
    """Return the nodes whose processes a search may kill: only clients have steps."""
    return tuple(spec.name for spec in scenario.nodes if spec.has_steps)


def _crash_nodes(request: ExplorationRequest) -> tuple[str, ...]:
    known = crashable_nodes(request.scenario)
    names: dict[str, None] = {}
    for name in request.crash or known:
        if name in _SEVERAL:
            names |= dict.fromkeys(spec.name for spec in request.scenario.of_kind(_SEVERAL[name]))
        elif name in known:
            names[name] = None
        else:
            raise ExplorationRefused("refusal.no_node", name=name, known=", ".join((*known, *_SEVERAL)))
    return tuple(names)


def _lost_frames(request: ExplorationRequest) -> tuple[str, ...]:
    for name in request.lose:
        if name in ("", REPLY) or name not in FRAME_NAMES:
            raise ExplorationRefused("refusal.no_frame_name", name=name, usual=", ".join(LOST_FRAMES))
    return request.lose or tuple(LOST_FRAMES)


# --- when ------------------------------------------------------------------------------------------------------------


def _window(request: ExplorationRequest, bounds: SearchBounds, wanted: tuple[str, ...]) -> tuple[int, int]:
    """Return begin and end in microseconds."""
    scenario = request.scenario
    stalled_ms = bounds.max_stalls * max(*bounds.hold_ms, *bounds.pause_ms, 0)
    stalled_ms += bounds.max_crashes * max(bounds.restart_ms, default=0)
    stalled_ms += _LOSS_TAIL_MS if bounds.max_losses else 0
    if wanted == ORDER_CHECKERS:
        begin_ms = max(spec.start_ms for spec in scenario.of_kind(ConsumerSpec))
        end_ms = (begin_ms if request.from_ms is None else request.from_ms) + stalled_ms + _TAIL_MS
    else:
        begin_ms, end_ms = _traffic_window(scenario)
        end_ms += stalled_ms
    if request.from_ms is not None:
        begin_ms = request.from_ms
    if request.to_ms is not None:
        end_ms = request.to_ms
    end_ms = min(end_ms, scenario.duration_ms)
    if not 0 <= begin_ms < end_ms:
        raise ExplorationRefused("refusal.empty_window", begin=begin_ms, end=end_ms, duration=scenario.duration_ms)
    return begin_ms * 1_000, end_ms * 1_000


def _traffic_window(scenario: Scenario) -> tuple[int, int]:
    """Return the time from the first message until a while after the last, in milliseconds."""
    begin_ms, end_ms = scenario.duration_ms, 0
    for spec in scenario.of_kind(ProducerSpec):
        for traffic in spec.traffic:
            if traffic.count:
                first_ms = max(spec.start_ms, traffic.start_ms)
                begin_ms = min(begin_ms, first_ms)
                end_ms = max(end_ms, first_ms + (traffic.sends - 1) * traffic.every_ms + _MONEY_TAIL_MS)
    return (begin_ms, end_ms) if begin_ms < end_ms else (0, scenario.duration_ms)


def _within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ExplorationRefused("refusal.out_of_bounds", name=name, value=value, low=low, high=high)


# --- actions in every schedule ---------------------------------------------------------------------------------------


def _commands(request: ExplorationRequest, begin_us: int) -> list[ScheduledCommand]:
    planned = [ScheduledCommand(0, _lock_switch(name)) for name in request.without]
    planned += [ScheduledCommand(begin_us * (one.kind == "group-lock"), one) for one in request.switched]
    for time_ms, consumer, queue_id in sorted(request.forced_unlocks):
        command = parse_command({"kind": "forced-unlock", "target": consumer, "queue_id": queue_id})
        planned.append(ScheduledCommand(time_ms * 1_000, command))
    return sorted(planned, key=lambda one: one.time_us)


def _lock_switch(name: str) -> Command:
    return parse_command({"kind": "lock-switch", "lock": name, "on": False})


def _setting(node: str, name: str, value: SettingValue) -> Command:
    return parse_command({"kind": "setting", "target": node, "name": name, "value": value})


def _with_settings(scenario: Scenario, settings: Sequence[tuple[str, str, SettingValue]]) -> Scenario:
    """Return the scenario as if it contained ``settings``."""
    changed: dict[str, dict[str, SettingValue]] = {}
    for node, name, value in settings:
        changed.setdefault(node, {})[name] = value
    nodes = tuple(
        dataclasses.replace(spec, settings={**spec.settings, **changed.get(spec.name, {})}) for spec in scenario.nodes
    )
    return dataclasses.replace(scenario, nodes=nodes)


def explain_nothing(plan: ExplorationPlan, without: Sequence[str]) -> Text | None:
    """Return why nothing was found, if the search knows; otherwise None."""
    if tuple(without) == ("message-queue-lock",) and not plan.setting.commands[1:]:
        # RocketMQ's ProcessQueue starts a new chain of consume requests only if none is in progress.
        return Text("explorer.consuming")
    return None
