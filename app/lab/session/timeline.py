"""A run and its past: parked copies of it, so that going back takes a short way.

The past is never stored, it is run again. A copy that has been run to some event cannot go back, so copies are parked
every 600 events while the host has nothing better to do; going back to an event takes the next copy before it and
runs it there. Who steps back gets the views just before that event too: stepping back once more needs no run at all.
Of the rest of the past one view in 50 is kept, to show while somebody drags through it.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from app.foundation.json_text import dump_json
from app.foundation.json_types import JsonObject
from app.lab.foundation.bounds import (
    PARK_EVERY_EVENTS,
    PARKED_PER_WORLD,
    SPARSE_EVERY_EVENTS,
    SPARSE_VIEWS_KEPT,
    VIEWS_KEPT,
)
from app.lab.foundation.refusal import LabRefused
from app.lab.views.frames import FrameRecorder
from app.lab.views.world_view import WorldView
from engine.lab.run.run import LabRun
from engine.protocol.json_form import json_library

#: For a detail of the past a copy is run so far, at once.
DETAIL_WAY_EVENTS = 5_000
#: Events that one slice runs between two looks at the clock.
EVENTS_PER_LOOK = 25


@dataclass(slots=True)
class Copy:
    """A copy of a run, and how many of its commands the copy knows of."""

    view: WorldView
    known_commands: int

    @property
    def event(self) -> int:
        """Where it stands."""
        return self.view.run.event_number

    def close(self) -> None:
        """Free it."""
        self.view.run.close()


class Timeline:
    """:ivar head: the run as far as it has come, with its view."""

    def __init__(self, run: LabRun) -> None:
        self.head = WorldView(run)
        #: By the event at which they stand.
        self._parked: dict[int, Copy] = {}
        #: On its way to the next place that lacks one, and that place.
        self._growing: Copy | None = None
        self._growing_to = 0
        #: The copy that was looked at last.
        self._past: Copy | None = None
        #: Every view of the stretches that were looked at, as text: hundreds of trees would make each of Python's
        #: garbage collections long. And one in so many of everything that copies ran through, compressed.
        self._views: OrderedDict[int, bytes] = OrderedDict()
        self._sparse: dict[int, bytes] = {}

    @property
    def run(self) -> LabRun:
        """The head's run."""
        return self.head.run

    @property
    def copies(self) -> int:
        """How many copies are kept now."""
        return len(self._parked) + (self._past is not None) + (self._growing is not None)

    # ------------------------------------------------------------------------------ looking back

    def kept_view(self, event: int) -> JsonObject | None:
        """The view after ``event``, if it is kept."""
        text = self._views.get(event)
        view: JsonObject | None = self._sparse_view(event) if text is None else json_library.loads(text)
        return view

    def near_view(self, event: int) -> JsonObject | None:
        """A view that is kept of less than one stretch before ``event``."""
        place = event - event % SPARSE_EVERY_EVENTS
        return self._sparse_view(place) or self._sparse_view(place + SPARSE_EVERY_EVENTS)

    def _sparse_view(self, event: int) -> JsonObject | None:
        packed = self._sparse.get(event)
        view: JsonObject | None = None if packed is None else json_library.loads(zlib.decompress(packed))
        return view

    def keep_view(self, view: JsonObject) -> None:
        """Keep a view of the past for as long as there is room."""
        self._views[view["event"]] = dump_json(view)
        self._views.move_to_end(view["event"])
        while len(self._views) > VIEWS_KEPT:
            self._views.popitem(last=False)

    def keep_sparse_view(self, copy: Copy) -> None:
        """Keep the view of a copy that passes, if it is one in so many."""
        event = copy.event
        if event % SPARSE_EVERY_EVENTS == 0 and event not in self._sparse and len(self._sparse) < SPARSE_VIEWS_KEPT:
            self._sparse[event] = zlib.compress(dump_json(copy.view.build()), 1)

    def begin_seek(self, event: int, views_before: int = 0) -> Seek:
        """A way to the view after ``event``, which lies before the head's, from the nearest copy before it.

        ``views_before``: of so many events before it the views are kept too.
        """
        past = self._past
        if past is not None and past.event >= event - PARK_EVERY_EVENTS and self._leads_to(past, event):
            self._past = None  # a few events further: it goes on
            return Seek(past, event, views_before, self.keep_view, self.keep_sparse_view)
        self._park_past()
        return Seek(self._take_copy(event), event, views_before, self.keep_view, self.keep_sparse_view)

    def _take_copy(self, event: int) -> Copy:
        """The last copy that leads to ``event``; it is not parked any more."""
        start = max((place for place, copy in self._parked.items() if self._leads_to(copy, event)), default=None)
        return self._parked.pop(start) if start is not None else self._new_copy()

    def end_seek(self, seek: Seek) -> None:
        """Keep the copy that has arrived (or was left on the way)."""
        self._past = seek.copy

    def frames(self, event: int) -> FrameRecorder:
        """The frames as seen from ``event``: the head's, or those of the copy that stands there."""
        if self._past is not None and self._past.event == event:
            return self._past.view.frames
        return self.head.frames

    def world_at(self, event: int) -> WorldView:
        """A world right after ``event``, to be read only. Raises :class:`LabRefused` when that is far off."""
        if event == self.run.event_number:
            return self.head
        if self._past is None or self._past.event != event:
            seek = self.begin_seek(event)
            is_near = event - seek.copy.event <= DETAIL_WAY_EVENTS
            if is_near:
                seek.advance(lambda: False)
            self.end_seek(seek)
            if not is_near:
                raise LabRefused("far_event", event=event)
        assert self._past is not None
        return self._past.view

    def _leads_to(self, copy: Copy, event: int) -> bool:
        """Whether running ``copy`` on to ``event`` repeats what happened: it knows all commands on the way."""
        commands = self.run.commands
        missed = commands[copy.known_commands].event if copy.known_commands < len(commands) else event + 1
        return copy.event <= event < missed

    def _park_past(self) -> None:
        copy, self._past = self._past, None
        if copy is not None:
            self._park(copy)

    def _park(self, copy: Copy) -> None:
        """Keep ``copy``, unless one stands before it in the same stretch that will do as well."""
        start = copy.event - copy.event % self._distance
        for place, other in list(self._parked.items()):
            if start <= place < start + self._distance:
                if place <= copy.event and other.known_commands >= copy.known_commands:
                    copy.close()
                    return
                self._parked.pop(place).close()
        if len(self._parked) >= PARKED_PER_WORLD:
            copy.close()
        else:
            self._parked[copy.event] = copy

    @property
    def _distance(self) -> int:
        """Events between two parked copies."""
        return max(PARK_EVERY_EVENTS, -(-self.run.event_number // PARKED_PER_WORLD))

    def _new_copy(self) -> Copy:
        run = self.run
        return Copy(WorldView(LabRun(run.scenario, run.seed, tuple(run.commands))), len(run.commands))

    # ------------------------------------------------------------------------------ idle time

    def grow(self, until: Callable[[], bool]) -> bool:
        """Prepare parked copies until ``until()``; False: there is nothing to prepare."""
        if self._growing is None:
            wanted = self._missing_place()
            if wanted is None:
                return False
            self._growing, self._growing_to = self._new_copy(), wanted
        copy = self._growing
        while not until():
            left = self._growing_to - copy.event
            if left <= 0 or copy.view.run.run_events(min(EVENTS_PER_LOOK, left)) == 0:
                self._growing = None
                self._park(copy)
                break
            self.keep_sparse_view(copy)
        return True

    def _missing_place(self) -> int | None:
        """The last multiple of the distance behind which no copy stands; the near past is asked for most."""
        if len(self._parked) >= PARKED_PER_WORLD:
            return None
        end, every = self.run.event_number, self._distance
        for place in reversed(range(every, end, every)):
            goal = min(place + every, end) - 1
            if not any(place <= copy.event and self._leads_to(copy, goal) for copy in self._parked.values()):
                return place
        return None

    # ------------------------------------------------------------------------------ forking

    def fork(self, event: int) -> None:
        """A run on the way to ``event`` becomes the head, with the commands up to there and nothing behind.

        It stands there already, or still has to be run there.
        """
        old, past = self.head, self._past
        if past is not None and past.event == event:
            self._past = None
            copy = past
        else:
            self._park_past()
            copy = self._take_copy(event)
        self.head = copy.view
        self.run.forget_after(event)
        old.run.close()
        self._abandon_growing()
        known = sum(timed.event <= event for timed in old.run.commands)
        for place, other in list(self._parked.items()):
            other.view.run.forget_after(event)
            other.known_commands = min(other.known_commands, known)
            if place > event:
                self._parked.pop(place).close()  # it stands in the future that is gone
        for views in (self._views, self._sparse):
            for number in [number for number in views if number > event]:
                del views[number]

    def replace(self, run: LabRun) -> None:
        """Another run becomes the head, and nothing is known of its past."""
        self.close()
        self.head = WorldView(run)

    def _abandon_growing(self) -> None:
        if self._growing is not None:
            self._growing.close()
            self._growing = None

    def free_copies(self) -> None:
        """Give back what only makes going back quick."""
        self._abandon_growing()
        self._park_past()
        for copy in self._parked.values():
            copy.close()
        self._parked.clear()
        self._views.clear()
        self._sparse.clear()

    def close(self) -> None:
        """Free all runs."""
        self.free_copies()
        self.run.close()


class Seek:
    """On the way to one event of the past.

    :param views_before: so many of the last steps are looked at one by one, for those who step back again.
    """

    def __init__(
        self,
        copy: Copy,
        event: int,
        views_before: int,
        keep_view: Callable[[JsonObject], None],
        keep_sparse_view: Callable[[Copy], None],
    ) -> None:
        self.copy = copy
        self.event = event
        self._quick_to = event - views_before
        self._keep_view = keep_view
        self._keep_sparse_view = keep_sparse_view

    def advance(self, until: Callable[[], bool]) -> JsonObject | None:
        """Go on until ``until()``; the view when it has arrived."""
        run = self.copy.view.run
        while run.event_number < self._quick_to:
            # Places of sparse views are multiples of the look's length: none is passed over.
            to_look = EVENTS_PER_LOOK - run.event_number % EVENTS_PER_LOOK
            if until() or run.run_events(min(to_look, self._quick_to - run.event_number)) == 0:
                return None
            self._keep_sparse_view(self.copy)
        view = self.copy.view.build()
        self._keep_view(view)
        while run.event_number < self.event:
            if until() or not run.step():
                return None
            view = self.copy.view.build()
            self._keep_view(view)
        return view
