"""The order for a search, and its reports: the same for a process of the server and for a worker of a browser."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from app.lab.foundation.bounds import NAME_MAX
from app.picture.pages.search import SearchOutline, SearchPhaseReport, WholeSearch
from engine.fields.field import Field
from engine.lab.explorer.exploration import Exploration, ExplorationPlan, SearchPhase
from engine.lab.explorer.lost_frames import LOST_FRAMES
from engine.lab.explorer.plan import (
    CRASHES_MAX,
    DURATIONS_MAX,
    HOLD_MS_MAX,
    LOSSES_MAX,
    STALLS_MAX,
    ExplorationRequest,
    explain_nothing,
    make_plan,
)
from engine.lab.explorer.stage import ORDER_CHECKERS, WORK_CHECKERS
from engine.lab.run.process_tree import ProcessTree
from engine.lab.scenario.errors import LabError
from engine.lab.scenario.scenario_names import NODES_MAX
from engine.lab.scenario.scenario_text import DURATION_MAX_MS, parse_scenario
from engine.lab.scenario.switches import SWITCHES

#: Takes a report of a search.
NoteState = Callable[[WholeSearch | SearchPhaseReport], None]
#: Seconds between the progress reports of a search.
SAY_EVERY_S = 0.2
#: The phases after which nothing is reported any more.
ENDS = (SearchPhase.DONE.value, "cancelled", "failed")


def _durations(name: str) -> Field:
    return Field(name, "list", 0, DURATIONS_MAX, default=(), item=Field(name, "integer", 0, HOLD_MS_MAX))


def _names(name: str, high: int) -> Field:
    return Field(name, "names", 0, high, default=(), each=NAME_MAX)


_FORCED_UNLOCK = (
    Field("ms", "integer", 0, DURATION_MAX_MS),
    Field("consumer", "text", 1, NAME_MAX),
    Field("queue id", "integer", 0, 1_000),
)
#: The fields of a request that a page may set.
SEARCH_FIELDS = (
    _names("without", len(SWITCHES)),
    Field("max_stalls", "integer", 0, STALLS_MAX, default=None),
    _durations("hold_ms"),
    _durations("pause_ms"),
    Field("max_crashes", "integer", 0, CRASHES_MAX, default=None),
    _names("crash", NODES_MAX),
    _durations("restart_ms"),
    Field("max_losses", "integer", 0, LOSSES_MAX, default=None),
    _names("lose", len(LOST_FRAMES)),
    Field("forced_unlocks", "list", 0, 4, default=(), item=Field("", "row", fields=_FORCED_UNLOCK)),
    Field("from_ms", "integer", 0, DURATION_MAX_MS, default=None),
    Field("to_ms", "integer", 0, DURATION_MAX_MS, default=None),
)


class SearchOrder(NamedTuple):
    """A search that another process can read: a scenario has no form of its own there but its text.

    :ivar fields: the request's fields but its scenario.
    """

    scenario_name: str
    scenario_text: str
    fields: dict[str, Any]


def order_of(request: ExplorationRequest) -> SearchOrder:
    """Return the order for a request."""
    fields = {
        name: getattr(request, name)
        for name in ("seed", "settings", "switched", *(field.name for field in SEARCH_FIELDS))
    }
    return SearchOrder(request.scenario.name, request.scenario.text, fields)


def search(order: SearchOrder, forks: ProcessTree | None = None) -> Iterator[WholeSearch]:
    """Search, and yield the states to report, when they are due; the last one says what was found, or why the search
    failed.
    """
    request = ExplorationRequest(parse_scenario(order.scenario_text, order.scenario_name), **order.fields)
    exploration = Exploration(make_plan(request), forks=forks)
    started, said_at = time.monotonic(), 0.0
    search_s = 0.0

    def state() -> WholeSearch:
        own = {**exploration.state.to_dict(), **outline(exploration.plan)}
        seconds = round(time.monotonic() - started, 3)
        return cast("WholeSearch", own | {"seconds": seconds, "search_seconds": round(search_s, 3), "why": None})

    try:
        for _ in exploration.steps():
            if exploration.state.phase is SearchPhase.SEARCHING:
                search_s = time.monotonic() - started
            if time.monotonic() - said_at >= SAY_EVERY_S:
                said_at = time.monotonic()
                yield state()
        nothing = exploration.state.finding is None and exploration.state.is_complete
        why = explain_nothing(exploration.plan, request.without) if nothing else None
        yield {**state(), "why": None if why is None else dict(why)}
    except LabError as error:
        yield {**state(), "phase": "failed", "error": dict(error.text)}


def outline(plan: ExplorationPlan) -> SearchOutline:
    """Return what is searched, how much and when."""
    bounds, setting = plan.bounds, plan.setting
    return {
        "checkers": list(setting.wanted),
        "is_order": setting.wanted == ORDER_CHECKERS,
        "is_work": WORK_CHECKERS[0] in setting.wanted,
        "max_stalls": bounds.max_stalls,
        "max_crashes": bounds.max_crashes,
        "crash_nodes": list(bounds.crash_nodes),
        "max_losses": bounds.max_losses,
        "from_us": setting.begin_us,
        "to_us": setting.end_us,
    }
