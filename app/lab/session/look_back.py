"""The past of a world: what is shown of it, and the way to the event that is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import BACK_WINDOW_EVENTS

if TYPE_CHECKING:
    from app.lab.session.timeline import Seek, Timeline
    from app.picture.world.playing import Busy
    from app.picture.world.world import WorldPicture

#: After this long without a further request, dragging through the past counts as paused.
HAND_RESTS_S = 0.12


class LookBack:
    """The past that a page views, read-only.

    :ivar view: what is shown instead of the head's view; None when the head is shown.
    """

    def __init__(self, timeline: Timeline, clock: Callable[[], float]) -> None:
        self._timeline = timeline
        self._clock = clock
        self.view: WorldPicture | None = None
        self._seek: Seek | None = None
        #: The wanted event, when the way there may begin, and how many views before it are wanted.
        self._request: tuple[int, float, int] | None = None
        self._scrubbed_at = -HAND_RESTS_S
        #: An event, and the virtual time after it at which the page views the world.
        self._stands_at = (0, 0)

    @property
    def event(self) -> int:
        """Return the event that is viewed, or will be as soon as it is reached."""
        if self._request is not None:
            return self._request[0]
        if self._seek is not None:
            return self._seek.event
        return self.shown_event

    @property
    def shown_event(self) -> int:
        """The event whose view is shown."""
        return self.view["event"] if self.view is not None else self._timeline.run.event_number

    @property
    def shown_view(self) -> WorldPicture | None:
        """Return what is shown, at the virtual time that is viewed."""
        view, (event, time_us) = self.view, self._stands_at
        if view is None or view["event"] != event or time_us == 0:
            return view
        return {**view, "time_us": time_us}

    @property
    def is_seeking(self) -> bool:
        """Return whether the view is on its way to an event."""
        return self._seek is not None or self._request is not None

    def look_at(self, event: int, *, step: int = 0, time_us: int = 0, at_once: bool = False) -> None:
        """Show the world as it was after ``event``, at the latest the head's, as soon as it is known.

        While the user drags, a view nearby is shown immediately, and the right one once the dragging pauses; with
        ``at_once`` the user does not drag. ``step``: the user goes by this many events, back or forward, and will
        again: what is shown stays until the wanted view is there. ``time_us``: how far the clock went on after that
        event.
        """
        self.stop_seeking()
        self._stands_at = (event, time_us)
        run = self._timeline.run
        if event == run.event_number:
            # The clock may have gone on since the last event: a moment before that is past, too.
            self.view = self._timeline.head.build() if 0 < time_us < run.now_us else None
            return
        near = self._timeline.kept_view(event) or self._timeline.near_view(event)
        if near is not None and (step == 0 or self.view is None or near["event"] == event):
            self.view = near
        if near is None or near["event"] != event:
            now = self._clock()
            drags = not at_once and step == 0 and near is not None and now - self._scrubbed_at < 2 * HAND_RESTS_S
            begins = now + HAND_RESTS_S if drags else now
            self._request = (event, begins, BACK_WINDOW_EVENTS if step < 0 else 0)
            self._scrubbed_at = now

    def look_at_head(self) -> None:
        """Show the present of the world again."""
        self.stop_seeking()
        self.view = None

    def stop_seeking(self) -> None:
        """Stop the way to an event."""
        self._request = None
        seek, self._seek = self._seek, None
        if seek is not None:
            self._timeline.end_seek(seek)

    def advance(self, now: float, until: Callable[[], bool]) -> bool:
        """Continue until ``until()`` is true; return True when there is something new to show."""
        if self._request is not None and now >= self._request[1]:
            event, _, views_before = self._request
            self._seek, self._request = self._timeline.begin_seek(event, views_before), None
        if self._seek is None:
            return False
        view = self._seek.advance(until)
        if view is None:
            return False
        self.stop_seeking()
        self.view = view
        return True

    def as_json(self) -> Busy | None:
        """Return the progress of the way, for the page."""
        if self._seek is None:
            return None
        return {"kind": "scrub", "event": self._seek.copy.event, "target": self._seek.event}
