"""One world as browsers see it: its owner, its viewers, its links, and when the next view is due.

:mod:`app.lab.session.player` plays it. Used by the lab's thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import FRAMES_PER_SECOND, JOB_FRAMES_PER_SECOND
from app.lab.session.player import WorldPlayer
from app.lab.session.world_links import WorldLinks

if TYPE_CHECKING:
    from app.lab.session.audience import Audience
    from app.picture.world.playing import PlayedWorld
    from engine.lab.run.recording import Recording
    from engine.lab.run.run import LabRun

#: Shortest time between two views of a playing world, in seconds.
_FRAME_S = 1 / FRAMES_PER_SECOND
_JOB_FRAME_S = 1 / JOB_FRAMES_PER_SECOND


class WorldSession:
    """One world with its viewers.

    :param identity: the world's id, in addresses.
    :param owner: the browser that may control it.
    :ivar begun: when it was made, in seconds.
    :ivar touched: when it was last used or watched, in seconds.
    """

    def __init__(self, identity: str, owner: str, run: LabRun, audience: Audience, clock: Callable[[], float]) -> None:
        self.identity = identity
        self.owner = owner
        self.audience = audience
        self.begun = self.touched = clock()
        self.is_published = False
        self.player = WorldPlayer(run, clock, self._note_change, audience.forget_journal)
        self._links = WorldLinks()
        #: Whether something may have changed that the viewers do not have.
        self.is_dirty = True
        #: Whether a person made the change and waits for it.
        self.is_urgent = True
        self._next_frame = 0.0

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return self.player.run.scenario.name

    @property
    def has_begun(self) -> bool:
        """Return whether it differs from a new world of its scenario."""
        run = self.player.run
        return run.event_number > 0 or bool(run.commands) or self.player.has_job

    def publish(self, on: bool) -> None:
        """Set whether others may follow."""
        self.is_published = on
        self._note_change(True)

    def rebuild(self, recording: Recording, link: str = "") -> None:
        """Run the events of a recording, in slices. ``link``: where it came from."""
        self.player.rebuild(recording)
        if link:
            self._links.remember(link)

    def leads_to(self, link: str) -> bool:
        """Return whether this world was built from ``link``, or was at its event."""
        return self._links.leads_here(link)

    # ------------------------------------------------------------------------------ the picture

    def _note_change(self, is_urgent: bool) -> None:
        self.is_dirty = True
        self.is_urgent |= is_urgent

    def frame_is_due(self, now: float) -> bool:
        """Return whether viewers should get a view now."""
        if self.audience.wants_snapshot:
            return True
        if self.audience.count and not self.audience.has_room:
            return False
        return self.is_dirty and (self.is_urgent or now >= self._next_frame)

    def send_frame(self, now: float) -> None:
        """Build the view and send it to the viewers."""
        self.is_dirty = self.is_urgent = False
        self._next_frame = now + (_JOB_FRAME_S if self.player.has_job else _FRAME_S)
        if self.audience.count:
            self.audience.publish(self.view(now), self.player.timeline.head)

    def view(self, now: float) -> PlayedWorld:
        """Return the world as it is viewed, and the state of playing."""
        player = self.player
        return {
            **player.shown_view(),
            "world": {"id": self.identity, "published": self.is_published, "viewers": self.audience.count},
            **player.as_json(),
            "link": self._links.current(player.run, now, is_moving=player.has_work),
        }
