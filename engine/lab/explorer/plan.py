"""Makes a plan of what a person asks for: which locks are off, how many stalls, which part of the story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.lab import refusal_texts as texts
from engine.lab.command import Command, parse_command
from engine.lab.errors import LabError
from engine.lab.explorer.exploration import ExplorationPlan, Where
from engine.lab.explorer.gated_run import PlannedCommand
from engine.lab.explorer.search import SearchBounds
from engine.lab.explorer.stage import ORDER_CHECKERS, StageSetting
from engine.lab.scenario import Role, Scenario
from engine.lab.switches import SWITCHES

#: Bounds of what may be asked for.
STALLS_MAX = 3
DURATIONS_MAX = 4
HOLD_MS_MAX = 600_000
SCHEDULES_MAX = 5_000_000
#: How long a stall lasts unless something else is asked for: longer than the second for which a rebalance waits for
#: the consume lock, and than the timers of a scenario made for the search.
DEFAULT_HOLD_MS = 2_000
#: How long the window is at least, besides the stalls: for whoever acts late.
_TAIL_MS = 5_000


class ExplorationRefused(LabError):
    """What was asked for cannot be searched."""


@dataclass(frozen=True, slots=True)
class ExplorationRequest:
    """What to search.

    :ivar seed: None: the scenario's.
    :ivar without: names of :data:`~engine.lab.switches.SWITCHES` that are off.
    :ivar hold_ms: durations of stalls of single actors; empty with ``pause_ms``: none; empty without: 2 s.
    :ivar pause_ms: durations of stalls of whole nodes.
    :ivar forced_unlocks: (virtual ms, consumer, queue id).
    :ivar from_ms, to_ms: the window; None: from the start of the last consumer on, until all stalls can be over.
    """

    scenario: Scenario
    seed: int | None = None
    without: tuple[str, ...] = ()
    max_stalls: int = 2
    hold_ms: tuple[int, ...] = ()
    pause_ms: tuple[int, ...] = ()
    forced_unlocks: tuple[tuple[int, str, int], ...] = ()
    from_ms: int | None = None
    to_ms: int | None = None
    where: Where | None = None
    random_schedules: int = 0
    max_schedules: int = 1_000_000


def make_plan(request: ExplorationRequest) -> ExplorationPlan:
    """Raises :class:`ExplorationRefused`, ``CommandRefused``."""
    scenario = request.scenario
    consumers = scenario.of_role(Role.CONSUMER)
    if not any(spec.orderly for spec in consumers):
        raise ExplorationRefused(texts.NOTHING_ORDERLY, scenario=scenario.name)
    for name in request.without:
        if name not in SWITCHES:
            raise ExplorationRefused(texts.NO_SWITCH, name=name, known=", ".join(SWITCHES))
    for _, name, _ in request.forced_unlocks:
        if all(spec.name != name for spec in consumers):
            raise ExplorationRefused(texts.NO_NODE, name=name, known=", ".join(spec.name for spec in consumers))
    hold_ms = request.hold_ms or (() if request.pause_ms else (DEFAULT_HOLD_MS,))
    _within("max_stalls", request.max_stalls, 0, STALLS_MAX)
    for ms in (*hold_ms, *request.pause_ms):
        _within("ms", ms, 1, HOLD_MS_MAX)
    _within("durations", len(hold_ms) + len(request.pause_ms), 1, DURATIONS_MAX)
    _within("schedules", request.max_schedules, 1, SCHEDULES_MAX)
    _within("random schedules", request.random_schedules, 0, SCHEDULES_MAX)
    begin_ms = request.from_ms if request.from_ms is not None else max(spec.start_ms for spec in consumers)
    stalled_ms = request.max_stalls * max(*hold_ms, *request.pause_ms, 0)
    end_ms = request.to_ms if request.to_ms is not None else begin_ms + stalled_ms + _TAIL_MS
    end_ms = min(end_ms, scenario.duration_ms)
    if not 0 <= begin_ms < end_ms:
        raise ExplorationRefused(texts.EMPTY_WINDOW, begin=begin_ms, end=end_ms, duration=scenario.duration_ms)
    setting = StageSetting(
        scenario=scenario,
        seed=scenario.seed if request.seed is None else request.seed,
        commands=tuple(_commands(request)),
        begin_us=begin_ms * 1_000,
        end_us=end_ms * 1_000,
        wanted=ORDER_CHECKERS,
    )
    bounds = SearchBounds(request.max_stalls, hold_ms, request.pause_ms, request.max_schedules)
    return ExplorationPlan(setting, bounds, request.where, request.random_schedules)


def _within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ExplorationRefused(texts.OUT_OF_BOUNDS, name=name, value=value, low=low, high=high)


def _commands(request: ExplorationRequest) -> list[PlannedCommand]:
    planned = [PlannedCommand(0, _lock_switch(name)) for name in request.without]
    for time_ms, consumer, queue_id in sorted(request.forced_unlocks):
        command = parse_command({"kind": "forced-unlock", "target": consumer, "queue_id": queue_id})
        planned.append(PlannedCommand(time_ms * 1_000, command))
    return planned


def _lock_switch(name: str) -> Command:
    return parse_command({"kind": "lock-switch", "lock": name, "on": False})


def explain_nothing(plan: ExplorationPlan, without: Sequence[str]) -> Mapping[str, str] | None:
    """Why nothing was found, where the search knows; None: it does not."""
    if tuple(without) == ("message-queue-lock",) and not plan.setting.commands[1:]:
        return _CONSUMING
    return None


#: RocketMQ's ProcessQueue starts a new chain of consume requests only when none is under way.
_CONSUMING: Mapping[str, str] = {
    "en": (
        "Without the MessageQueue lock alone nothing goes wrong: each ProcessQueue has a flag, consuming, that is set "
        "while a consume request is under way, and a pull submits no second one meanwhile. So no second worker ever "
        "comes to the lock. Switch the consuming flag off too, or force an unlock, which makes a second ProcessQueue "
        "of the same queue, and it matters."
    ),
    "zh": (
        "只去掉 MessageQueue 本地锁不会出错：每个 ProcessQueue 有一个 consuming 标志，消费请求进行期间它一直为真，"
        "拉取不会再提交第二个请求，所以没有第二个线程会来抢这把锁。把 consuming 标志也关掉，或者强制解锁（会为同一队列"
        "再建一个 ProcessQueue），这把锁就重要了。"
    ),
}
