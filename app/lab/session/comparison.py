"""Two runs next to each other: how the second is derived from the first, and where they begin to differ.

Both take many events, so they are jobs of the lab's thread as films are: see :class:`app.lab.session.film.FilmJob`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import COMPARED_EVENTS_MAX
from app.lab.foundation.refusal import refusal_of
from app.lab.session.timeline import EVENTS_PER_LOOK
from app.lab.views.world_view import WorldView, node_of
from engine.lab.run.run import LabRun
from engine.lab.run.setting_fork import StoryVariant
from engine.lab.scenario.errors import LabError

if TYPE_CHECKING:
    from app.picture.frame import Frame
    from app.picture.session.comparison import ComparedLinks, ComparedSide, FirstDifference
    from engine.lab.run.recording import Recording

#: Events whose journals are compared at a time; a frame may differ up to this many events before the first differing
#: entry.
_STRIDE = 100
_FLIGHT_EVENTS = 300


class VariantMaker:
    """Brings a variant of a run to the event of the run; a ``FilmJob``."""

    def __init__(self, original: Recording, variant: StoryVariant | Recording, answer: Future[ComparedLinks]) -> None:
        self.answer = answer
        self._original = original
        self._variant = variant

    def advance(self, until: Callable[[], bool]) -> bool:
        """Continue until ``until()`` is true; return True when the answer is there, or no request waits for it any
        more.
        """
        variant = self._variant
        if isinstance(variant, StoryVariant):
            try:
                while not variant.advance(EVENTS_PER_LOOK):
                    if self.answer.cancelled():
                        return True
                    if until():
                        return False
            except LabError as error:
                raise refusal_of(error) from error
            link = variant.run.link()
        else:
            link = variant.link()
        self.answer.set_result({"left": self._original.link(), "right": link})
        return True

    def close(self) -> None:
        """Free the run."""
        if isinstance(self._variant, StoryVariant):
            self._variant.run.close()


class DifferenceFinder:
    """Runs two recordings event by event until they differ; a ``FilmJob``.

    A command to a world is not an event: two runs differ at the first event that is another one, or that sends another
    frame.
    """

    def __init__(self, left: Recording, right: Recording, answer: Future[FirstDifference]) -> None:
        self.answer = answer
        self._recordings = (left, right)
        #: Up to here they are the same: the journals are compared for many events at a time. Then, in single steps,
        #: frames are compared too, which may differ a little earlier.
        self._same_event = 0
        self._stride = _STRIDE
        self._sides = self._begin(looks=False)

    def _begin(self, *, looks: bool) -> tuple[_Side, _Side]:
        left, right = (_Side(recording, looks=looks) for recording in self._recordings)
        return left, right

    def advance(self, until: Callable[[], bool]) -> bool:
        """Continue until ``until()`` is true; return True when the answer is there, or no request waits for it any
        more.
        """
        while not self.answer.cancelled() and not self.answer.done():
            if until():
                return False
            try:
                self._go_on()
            except LabError as error:
                raise refusal_of(error) from error
        return True

    def _go_on(self) -> None:
        left, right = self._sides
        if (known := self._same_event - left.event) > 0:
            for side in self._sides:
                side.run_on(min(known, EVENTS_PER_LOOK))
            return
        ran = left.run_on(self._stride)
        if right.run_on(self._stride) == ran and left.actions(ran) == right.actions(ran):
            self._same_event = left.event
            if ran == 0 or left.event >= COMPARED_EVENTS_MAX:
                self.answer.set_result({"event": None, "events": left.event, "time_us": left.now_us})
        elif self._stride == 1:
            self.answer.set_result(self._difference())
        else:
            self._stride = 1
            self._same_event = max(0, self._same_event - _FLIGHT_EVENTS)
            self.close()
            self._sides = self._begin(looks=True)

    def _difference(self) -> FirstDifference:
        left, right = self._sides
        first = min(self._sides, key=lambda side: side.now_us)
        return {"event": first.event, "time_us": first.now_us, "left": left.as_json(), "right": right.as_json()}

    def close(self) -> None:
        """Free the runs."""
        for side in self._sides:
            side.close()


class _Side:
    """One of the two runs."""

    def __init__(self, recording: Recording, *, looks: bool) -> None:
        self._run = LabRun(recording.scenario, recording.seed, recording.commands, check=looks)
        self._world = WorldView(self._run) if looks else None

    @property
    def event(self) -> int:
        return self._run.event_number

    @property
    def now_us(self) -> int:
        return self._run.now_us

    def run_on(self, count: int) -> int:
        """Run up to this many events, and return how many there were."""
        return self._run.run_events(count)

    def actions(self, count: int) -> tuple[list[tuple[int, str, str]], list[Frame]]:
        """Return what the last ``count`` events were; in single steps, also the frames in flight and recently
        arrived.
        """
        entries = self._run.world.journal.entries[-count:] if count else []
        frames = [] if self._world is None else self._world.build()["frames"]
        return [(entry.time_us, entry.actor, entry.label) for entry in entries], frames

    def as_json(self) -> ComparedSide:
        """Return what it did last."""
        entries = self._run.world.journal.entries[-1:]
        caption = None if self._world is None else self._world.build()["caption"]
        if caption is not None and caption["event"] != self.event:
            caption = None
        actor, label = (entries[0].actor, entries[0].label) if entries else ("", "")
        return {
            "caption": None if caption is None else caption["text"],
            "node": node_of(actor),
            "actor": actor,
            "label": label,
        }

    def close(self) -> None:
        self._run.close()
