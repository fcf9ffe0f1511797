"""Searches that pages have started, the progress of each, and what a search would do."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Protocol, cast

from app.lab.foundation.refusal import LabRefused, refusal_of
from app.lab.routes.search_order import ENDS, NoteState, SearchOrder, order_of, outline
from app.picture.pages.search import RefusedSearch, SearchPhaseReport, SearchPlan, WholeSearch
from engine.lab.explorer.lost_frames import LOST_FRAMES
from engine.lab.explorer.plan import ExplorationRequest, crashable_nodes, make_plan, useful_switches
from engine.lab.scenario.errors import LabError

log = logging.getLogger("glassmq.lab.explorer")

#: Searches at a time, of the whole server and of one browser. A search uses all cores at low priority.
RUNNING_MAX = 2
RUNNING_PER_BROWSER = 1
#: Searches that are kept, ended ones included.
KEPT_MAX = 32


class RunningSearch(Protocol):
    """A search at work elsewhere: in a process, or in a worker of a browser."""

    def asked(self) -> None:
        """Note that a page has polled it."""

    def end(self) -> None:
        """End it at once; its last state has been noted."""


class StartSearch(Protocol):
    """Starts a search elsewhere, which passes each of its states to ``note``."""

    def __call__(self, order: SearchOrder, note: NoteState) -> RunningSearch: ...


@dataclass(slots=True)
class _Search:
    """One search of the explorer. ``state`` is replaced as a whole, and no more after its end."""

    owner: str
    state: WholeSearch | SearchPhaseReport
    work: RunningSearch = field(init=False)

    @property
    def is_running(self) -> bool:
        """Return whether its last report is still to come."""
        return self.state["phase"] not in ENDS

    def note(self, state: WholeSearch | SearchPhaseReport) -> None:
        """Take a report, or a part of one."""
        if self.is_running:
            self.state = cast("WholeSearch | SearchPhaseReport", {**self.state, **state})
            if state["phase"] == "failed":
                log.warning("a search ended without a result: %s", state.get("error", "its process is gone"))


class Explorations:
    """The searches of all pages. Used by web threads. ``start_search`` runs each of them."""

    def __init__(self, start_search: StartSearch) -> None:
        self._start_search = start_search
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
            search = _Search(owner, {"phase": "starting", "schedules": 0, "seconds": 0.0})
            search.work = self._start_search(order_of(request), search.note)
            self._searches[identity] = search
            while len(self._searches) > KEPT_MAX:
                oldest = next(key for key, search in self._searches.items() if not search.is_running)
                del self._searches[oldest]
        return identity

    def plan(self, request: ExplorationRequest) -> SearchPlan | RefusedSearch:
        """Return what a search would do, without starting it; or, as ``problem``, why it cannot be done."""
        try:
            plan = make_plan(request)
        except LabError as error:
            return {"problem": dict(error.text)}
        return {
            **outline(plan),
            "duration_ms": request.scenario.duration_ms,
            "switches": list(useful_switches(request.scenario)),
            "clients": list(crashable_nodes(request.scenario)),
            "frames": list(LOST_FRAMES),
        }

    def state(self, owner: str, identity: str) -> WholeSearch | SearchPhaseReport:
        """Return the progress of a search of ``owner``. Raises :class:`LabRefused`."""
        search = self._find(owner, identity)
        search.work.asked()
        return search.state

    def cancel(self, owner: str, identity: str) -> WholeSearch | SearchPhaseReport:
        """End a search, and return its last state. Raises :class:`LabRefused`."""
        search = self._find(owner, identity)
        search.note({"phase": "cancelled"})
        search.work.end()
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
