"""A run and its past: checkpoints of it, so that going back is fast.

The past is never stored, it is run again. A copy that has been run to some event cannot go back, so checkpoints are
made every 600 events while the host is idle, in a long run at larger distances; going back to an event takes the
nearest checkpoint before it and runs it there. A step back keeps the views just before that event too: stepping back
once more needs no run. Of the rest of the past one view in 50 is kept (in a long run in 100, 200, ...), to show while
the user drags through it.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.foundation.json_text import dump_json
from app.lab.foundation.bounds import (
    CHECKPOINT_EVENTS_MAX,
    CHECKPOINT_EVERY_EVENTS,
    CHECKPOINTS_PER_WORLD,
    SPARSE_EVERY_EVENTS,
    SPARSE_VIEWS_KEPT,
    VIEWS_KEPT,
)
from app.lab.foundation.garbage import FullCollections
from app.lab.foundation.refusal import LabRefused
from app.lab.views.world_view import WorldView
from engine.lab.run.run import LabRun
from engine.protocol.json_form import json_library

if TYPE_CHECKING:
    from app.lab.views.frames import FramesView
    from app.picture.world.world import WorldPicture

#: For a detail of the past, a copy is run at most this many events immediately.
DETAIL_WAY_EVENTS = 5_000
#: Events that one slice runs between two readings of the clock.
EVENTS_PER_LOOK = 25


@dataclass(slots=True)
class Copy:
    """A copy of a run, and how many of the run's commands it has."""

    view: WorldView
    known_commands: int

    @property
    def event(self) -> int:
        """Return the number of the last event of the copy."""
        return self.view.run.event_number

    def close(self) -> None:
        """Free the copy."""
        _free(self.view.run)


def _free(run: LabRun) -> None:
    FullCollections.note_freed(run.event_number)
    run.close()


class Timeline:
    """A run with its checkpoints.

    :ivar head: the run as far as it has come, with its view.
    """

    def __init__(self, run: LabRun) -> None:
        self.head = WorldView(run)
        #: Checkpoints by their event.
        self._checkpoints: dict[int, Copy] = {}
        #: The copy on its way to the next place that lacks a checkpoint, and that place.
        self._growing: Copy | None = None
        self._growing_to = 0
        #: The copy that was viewed last.
        self._past: Copy | None = None
        #: Every view of the stretches that were viewed, as text: hundreds of trees would make each garbage collection
        #: long. Also every Nth view of everything that copies ran through, compressed.
        self._views: OrderedDict[int, bytes] = OrderedDict()
        self._sparse: dict[int, bytes] = {}

    @property
    def run(self) -> LabRun:
        """The head's run."""
        return self.head.run

    @property
    def copies(self) -> int:
        """Return how many copies are kept now."""
        return len(self._checkpoints) + (self._past is not None) + (self._growing is not None)

    # -------------------------------------------------------------------------- viewing the past

    def kept_view(self, event: int) -> WorldPicture | None:
        """Return the view after ``event``, if it is kept."""
        text = self._views.get(event)
        view: WorldPicture | None = self._sparse_view(event) if text is None else json_library.loads(text)
        return view

    def near_view(self, event: int) -> WorldPicture | None:
        """Return a kept view of less than one stretch before ``event``."""
        every = self._sparse_every
        place = event - event % every
        return self._sparse_view(place) or self._sparse_view(place + every)

    def _sparse_view(self, event: int) -> WorldPicture | None:
        packed = self._sparse.get(event)
        view: WorldPicture | None = None if packed is None else json_library.loads(zlib.decompress(packed))
        return view

    def keep_view(self, view: WorldPicture) -> None:
        """Keep a view of the past for as long as there is room."""
        self._views[view["event"]] = dump_json(view)
        self._views.move_to_end(view["event"])
        while len(self._views) > VIEWS_KEPT:
            self._views.popitem(last=False)

    def keep_sparse_view(self, copy: Copy) -> None:
        """Keep the view of a passing copy, if it is one of every Nth."""
        event, every = copy.event, self._sparse_every
        if event % every == 0 and event not in self._sparse:
            if len(self._sparse) >= SPARSE_VIEWS_KEPT:
                self._sparse = {place: packed for place, packed in self._sparse.items() if place % every == 0}
            self._sparse[event] = zlib.compress(dump_json(copy.view.build()), 1)

    @property
    def _sparse_every(self) -> int:
        """Return the number of events between two sparse views."""
        every = SPARSE_EVERY_EVENTS
        while self.run.event_number // every >= SPARSE_VIEWS_KEPT:
            every *= 2
        return every

    def begin_seek(self, event: int, views_before: int = 0) -> Seek:
        """Begin the way to the view after ``event``, which must be before the head's, from the nearest copy before it.

        ``views_before``: the views of this many events before it are kept too.
        """
        past = self._past
        if past is not None and past.event >= event - CHECKPOINT_EVERY_EVENTS and self._leads_to(past, event):
            self._past = None  # a few events further: it continues
            return Seek(past, event, views_before, self.keep_view, self.keep_sparse_view)
        self._keep_past()
        return Seek(self._take_copy(event), event, views_before, self.keep_view, self.keep_sparse_view)

    def _take_copy(self, event: int) -> Copy:
        """Return the last copy that leads to ``event``, and remove it from the checkpoints."""
        start = max((place for place, copy in self._checkpoints.items() if self._leads_to(copy, event)), default=None)
        return self._checkpoints.pop(start) if start is not None else self._new_copy()

    def end_seek(self, seek: Seek) -> None:
        """Keep the copy that has arrived (or was left on the way)."""
        self._past = seek.copy

    def frames(self, event: int) -> FramesView:
        """Return the frames as seen from ``event``: the head's, or those of the copy at that event."""
        if self._past is not None and self._past.event == event:
            return self._past.view.frames
        return self.head.frames

    def world_at(self, event: int) -> WorldView:
        """Return a world right after ``event``, for reading only. Raises :class:`LabRefused` when that is too far."""
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
        """Return whether running ``copy`` on to ``event`` repeats what happened: it has all commands on the way."""
        commands = self.run.commands
        missed = commands[copy.known_commands].event if copy.known_commands < len(commands) else event + 1
        return copy.event <= event < missed

    def _keep_past(self) -> None:
        copy, self._past = self._past, None
        if copy is not None:
            self._keep_checkpoint(copy)

    def _keep_checkpoint(self, copy: Copy) -> None:
        """Keep ``copy``, unless an earlier one in the same stretch, or the beginning, serves as well."""
        distance = self._distance
        start = copy.event - copy.event % distance
        if start == 0:
            copy.close()
            return
        for place, other in list(self._checkpoints.items()):
            if start <= place < start + distance:
                if place <= copy.event and other.known_commands >= copy.known_commands:
                    copy.close()
                    return
                self._checkpoints.pop(place).close()
        self._checkpoints[copy.event] = copy

    @property
    def _distance(self) -> int:
        """Return the number of events between two checkpoints. Doubling keeps every second one where it is."""
        end, distance = self.run.event_number, CHECKPOINT_EVERY_EVENTS
        while True:
            count = end // distance
            events = distance * count * (count + 1) // 2
            if count <= CHECKPOINTS_PER_WORLD and events <= max(CHECKPOINT_EVENTS_MAX, 2 * end):
                return distance
            distance *= 2

    def _space_checkpoints(self) -> None:
        """Free the checkpoints that are too many since the run has become longer."""
        copies = [self._checkpoints[place] for place in sorted(self._checkpoints)]
        self._checkpoints.clear()
        for copy in copies:
            self._keep_checkpoint(copy)

    def _new_copy(self) -> Copy:
        run = self.run
        return Copy(WorldView(LabRun(run.scenario, run.seed, tuple(run.commands))), len(run.commands))

    # ------------------------------------------------------------------------------ idle time

    def grow(self, until: Callable[[], bool]) -> bool:
        """Prepare checkpoints until ``until()`` is true; return False when there is nothing to prepare."""
        if self._growing is None:
            self._space_checkpoints()
            wanted = self._missing_place()
            if wanted is None:
                return False
            self._growing, self._growing_to = self._new_copy(), wanted
        copy = self._growing
        while not until():
            left = self._growing_to - copy.event
            if left <= 0 or copy.view.run.run_events(min(EVENTS_PER_LOOK, left)) == 0:
                self._growing = None
                self._keep_checkpoint(copy)
                break
            self.keep_sparse_view(copy)
        return True

    def _missing_place(self) -> int | None:
        """Return the last multiple of the distance that has no checkpoint soon after it; the near past is requested
        most.
        """
        end, every = self.run.event_number, self._distance
        for place in reversed(range(every, end, every)):
            goal = min(place + CHECKPOINT_EVERY_EVENTS, end) - 1
            if not any(place <= copy.event and self._leads_to(copy, goal) for copy in self._checkpoints.values()):
                return place
        return None

    # ------------------------------------------------------------------------------ forking

    def fork(self, event: int) -> None:
        """Make a run on the way to ``event`` the head, with the commands up to there and none after it.

        It is there already, or still has to be run there.
        """
        old, past = self.head, self._past
        if past is not None and past.event == event:
            self._past = None
            copy = past
        else:
            self._keep_past()
            copy = self._take_copy(event)
        self.head = copy.view
        self.run.forget_after(event)
        _free(old.run)
        self._abandon_growing()
        known = sum(timed.event <= event for timed in old.run.commands)
        for place, other in list(self._checkpoints.items()):
            other.view.run.forget_after(event)
            other.known_commands = min(other.known_commands, known)
            if place > event:
                self._checkpoints.pop(place).close()  # it is in the future that is gone
        for views in (self._views, self._sparse):
            for number in [number for number in views if number > event]:
                del views[number]

    def replace(self, run: LabRun) -> None:
        """Make another run the head, of whose past nothing is known."""
        self.close()
        self.head = WorldView(run)

    def _abandon_growing(self) -> None:
        if self._growing is not None:
            self._growing.close()
            self._growing = None

    def free_copies(self) -> None:
        """Free the copies that only make going back fast."""
        self._abandon_growing()
        self._keep_past()
        for copy in self._checkpoints.values():
            copy.close()
        self._checkpoints.clear()
        self._views.clear()
        self._sparse.clear()

    def close(self) -> None:
        """Free all runs."""
        self.free_copies()
        _free(self.run)


class Seek:
    """The way to one event of the past.

    :param views_before: the last steps that are viewed one by one, for users who step back again.
    """

    def __init__(
        self,
        copy: Copy,
        event: int,
        views_before: int,
        keep_view: Callable[[WorldPicture], None],
        keep_sparse_view: Callable[[Copy], None],
    ) -> None:
        self.copy = copy
        self.event = event
        self._quick_to = event - views_before
        self._keep_view = keep_view
        self._keep_sparse_view = keep_sparse_view

    def advance(self, until: Callable[[], bool]) -> WorldPicture | None:
        """Continue until ``until()`` is true; return the view on arrival."""
        run = self.copy.view.run
        while run.event_number < self._quick_to:
            # Places of sparse views are multiples of the interval: none is passed over.
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
