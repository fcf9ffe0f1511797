"""Searches that pages have started: each runs in a process of its own, so that no page waits for one.

A search process is a fresh interpreter (spawn) at low priority. It reports its progress about five times a second; a
thread here notes the last report. A search that is no longer polled is ended, and so is one that takes too long.
"""

from __future__ import annotations

import gc
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from app.foundation.forked_processes import forked_processes, usable_cores
from app.foundation.json_types import JsonObject
from app.foundation.worker_process import WorkerProcess
from app.lab.foundation.bounds import NAME_MAX
from app.lab.foundation.refusal import LabRefused, refusal_of
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
    crashable_nodes,
    explain_nothing,
    make_plan,
    useful_switches,
)
from engine.lab.explorer.stage import ORDER_CHECKERS, WORK_CHECKERS
from engine.lab.scenario.errors import LabError
from engine.lab.scenario.scenario_names import NODES_MAX
from engine.lab.scenario.scenario_text import DURATION_MAX_MS, parse_scenario
from engine.lab.scenario.switches import SWITCHES

log = logging.getLogger("glassmq.lab.explorer")

#: Searches at a time, of the whole server and of one browser. A search uses all cores at low priority.
RUNNING_MAX = 2
RUNNING_PER_BROWSER = 1
#: Searches that are kept, ended ones included.
KEPT_MAX = 32
#: A search ends when it has not been polled for the first time, and in any case after the second: all schedules of
#: three-locks with up to two stalls, some 30,000, take about ten minutes of one core.
ABANDONED_S = 30.0
TIME_MAX_S = 1_200.0
#: Seconds between the progress reports of a search.
SAY_EVERY_S = 0.2
#: Seconds that an ended search may take to exit.
_JOIN_S = 5.0


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


@dataclass(slots=True)
class _Search:
    """One search of the explorer. ``state`` is replaced as a whole by its thread."""

    owner: str
    worker: WorkerProcess
    started: float
    asked: float
    state: JsonObject
    is_cancelled: bool = False
    thread: threading.Thread | None = field(default=None)

    @property
    def is_running(self) -> bool:
        """Return whether its last report is still to come."""
        return self.state["phase"] not in _ENDS


_ENDS = (SearchPhase.DONE.value, "cancelled", "failed")


class Explorations:
    """The searches of all pages. Used by web threads. ``clock``: monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._searches: OrderedDict[str, _Search] = OrderedDict()

    def start(self, owner: str, request: ExplorationRequest) -> str:
        """Start a search for the browser ``owner``, and return its id. Raises :class:`LabRefused`."""
        try:
            make_plan(request)
        except LabError as error:
            raise refusal_of(error) from error
        with self._lock:
            running = [search for search in self._searches.values() if search.is_running]
            own = [search for search in running if search.owner == owner]
            if len(own) >= RUNNING_PER_BROWSER or len(running) >= RUNNING_MAX:
                raise LabRefused("too_many_searches", limit=RUNNING_MAX)
            identity = secrets.token_urlsafe(9)
            self._searches[identity] = self._spawn(owner, request)
            while len(self._searches) > KEPT_MAX:
                oldest = next(key for key, search in self._searches.items() if not search.is_running)
                del self._searches[oldest]
        return identity

    def plan(self, request: ExplorationRequest) -> JsonObject:
        """Return what a search would do, without starting it; or, as ``problem``, why it cannot be done."""
        try:
            plan = make_plan(request)
        except LabError as error:
            return {"problem": dict(error.text)}
        return {
            **_outline(plan),
            "duration_ms": request.scenario.duration_ms,
            "switches": list(useful_switches(request.scenario)),
            "clients": list(crashable_nodes(request.scenario)),
            "frames": list(LOST_FRAMES),
        }

    def _spawn(self, owner: str, request: ExplorationRequest) -> _Search:
        names = ("seed", "settings", "switched", *(field.name for field in SEARCH_FIELDS))
        fields = {name: getattr(request, name) for name in names}
        arguments = (request.scenario.name, request.scenario.text, fields)
        worker = WorkerProcess("glassmq explorer", explore_in_process, *arguments)
        now = self._clock()
        search = _Search(owner, worker, now, now, {"phase": "starting", "schedules": 0, "seconds": 0.0})
        search.thread = threading.Thread(target=self._listen, args=(search,), name="explorer listener", daemon=True)
        search.thread.start()
        return search

    def _listen(self, search: _Search) -> None:
        """Note what the process reports until it exits."""
        try:
            while search.is_running:
                if search.worker.receiver.poll(0.5):
                    search.state = search.worker.receiver.recv()
                now = self._clock()
                if search.is_cancelled or now - search.asked > ABANDONED_S or now - search.started > TIME_MAX_S:
                    search.state = {**search.state, "phase": "cancelled"}
        except (EOFError, OSError):
            if search.is_running:
                phase = "cancelled" if search.is_cancelled else "failed"
                log.warning("a search ended without a result: %s", phase)
                search.state = {**search.state, "phase": phase}
        finally:
            search.worker.close()

    def state(self, owner: str, identity: str) -> JsonObject:
        """Return the progress of a search of ``owner``. Raises :class:`LabRefused`."""
        search = self._find(owner, identity)
        search.asked = self._clock()
        return search.state

    def cancel(self, owner: str, identity: str) -> JsonObject:
        """End a search, and return its last state. Raises :class:`LabRefused`."""
        search = self._find(owner, identity)
        search.is_cancelled = True
        if search.is_running:
            search.worker.terminate()
        if search.thread is not None:
            search.thread.join(_JOIN_S)
        return search.state

    def close(self) -> None:
        """End all searches."""
        with self._lock:
            searches = list(self._searches.items())
        for identity, search in searches:
            self.cancel(search.owner, identity)

    def _find(self, owner: str, identity: str) -> _Search:
        with self._lock:
            search = self._searches.get(identity)
        if search is None or search.owner != owner:
            raise LabRefused("no_search")
        return search


# --- the process ---------------------------------------------------------------------------------------------------


def explore_in_process(sender: Connection, name: str, text: str, fields: dict[str, Any]) -> None:
    """Search in a process of its own, report the progress, and at last what was found."""
    request = ExplorationRequest(parse_scenario(text, name), **fields)
    exploration = Exploration(make_plan(request), forks=forked_processes(usable_cores()))
    # What is imported by now stays: the collector need not examine it after every world.
    gc.collect()
    gc.freeze()
    try:
        for state in _states(exploration, request):
            sender.send(state)
    except LabError as error:
        sender.send({**exploration.state.to_dict(), "phase": "failed", "error": dict(error.text)})


def _states(exploration: Exploration, request: ExplorationRequest) -> Iterator[JsonObject]:
    """Yield the states to report, when they are due; the last one says that the search is done."""
    started, said_at = time.monotonic(), 0.0
    search_s = 0.0

    def state() -> JsonObject:
        """Return the state. ``seconds`` are wall-clock time; ``search_seconds`` leave out the time for minimizing a
        finding.
        """
        return {
            **exploration.state.to_dict(),
            **_outline(exploration.plan),
            "seconds": round(time.monotonic() - started, 3),
            "search_seconds": round(search_s, 3),
        }

    for _ in exploration.steps():
        if exploration.state.phase is SearchPhase.SEARCHING:
            search_s = time.monotonic() - started
        if time.monotonic() - said_at >= SAY_EVERY_S:
            said_at = time.monotonic()
            yield state()
    nothing = exploration.state.finding is None and exploration.state.is_complete
    why = explain_nothing(exploration.plan, request.without) if nothing else None
    yield {**state(), "why": None if why is None else dict(why)}


def _outline(plan: ExplorationPlan) -> JsonObject:
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
        "from_ms": setting.begin_us // 1_000,
        "to_ms": setting.end_us // 1_000,
    }
