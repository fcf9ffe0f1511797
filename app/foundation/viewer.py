"""One browser that watches the live state: what it was sent, what it acknowledged, and whether it behaves.

The server sends numbered messages and the browser acknowledges them. A viewer with :data:`WINDOW` unacknowledged
messages gets nothing more, and nothing is kept for it. Once it has caught up it gets one snapshot. So a viewer costs
the server a bounded amount of memory however slowly it reads.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

from app.foundation.event_budget import EventBudget
from engine.runtime.state_table import successor

#: Messages a viewer may have unacknowledged before the server stops sending to it.
WINDOW = 8
#: Snapshots a viewer may have unacknowledged; a viewer that only ever requests more gets none.
SNAPSHOT_WINDOW = 2
#: Events per second a viewer may send in the long run (it acknowledges about ten), and in one burst.
EVENTS_PER_SECOND = 40
EVENT_BURST = 120
#: Unusable events after which a viewer is disconnected.
BAD_EVENTS_MAX = 20


class ViewerPhase(Enum):
    """The next update that the viewer needs."""

    WANTS_SNAPSHOT = "wants a snapshot"
    FOLLOWS = "follows the patches"
    BEHIND = "did not acknowledge in time, gets nothing until it has caught up"


#: Phase -> the phases that may follow. A viewer may request a snapshot at any time.
_NEXT: dict[ViewerPhase, tuple[ViewerPhase, ...]] = {
    ViewerPhase.WANTS_SNAPSHOT: (ViewerPhase.FOLLOWS, ViewerPhase.WANTS_SNAPSHOT),
    ViewerPhase.FOLLOWS: (ViewerPhase.BEHIND, ViewerPhase.WANTS_SNAPSHOT),
    ViewerPhase.BEHIND: (ViewerPhase.WANTS_SNAPSHOT,),
}


class Viewer:
    """The state of one watching browser. Not thread-safe: the stream's lock guards it.

    ``viewer_id`` is the Socket.IO session id; times are in seconds of a monotonic clock.
    """

    __slots__ = ("_bad_events", "_budget", "_snapshots", "_unacknowledged", "phase", "viewer_id")

    def __init__(self, viewer_id: str, now: float) -> None:
        self.viewer_id = viewer_id
        self.phase = ViewerPhase.WANTS_SNAPSHOT
        self._unacknowledged: deque[int] = deque()  # sequence numbers, ascending
        self._snapshots: deque[int] = deque()  # those of them that were snapshots
        self._budget = EventBudget(EVENTS_PER_SECOND, EVENT_BURST, now)
        self._bad_events = 0

    def takes_patch(self, sequence: int) -> bool:
        """Return whether the patch that leads to state ``sequence`` is to be sent to this viewer, and note it as
        sent.
        """
        if self.phase is not ViewerPhase.FOLLOWS:
            return False
        if len(self._unacknowledged) >= WINDOW:
            self._move(ViewerPhase.BEHIND)
            return False
        self._unacknowledged.append(sequence)
        return True

    def takes_snapshot(self, sequence: int) -> bool:
        """Return whether the snapshot of state ``sequence`` is to be sent to this viewer now, and note it as sent."""
        if not self.waits_for_snapshot:
            return False
        self._unacknowledged.append(sequence)
        self._snapshots.append(sequence)
        self._move(ViewerPhase.FOLLOWS)
        return True

    @property
    def has_room(self) -> bool:
        """Return whether the next state, as a patch or as a snapshot, may be sent to this viewer."""
        return self.waits_for_snapshot or (self.phase is ViewerPhase.FOLLOWS and len(self._unacknowledged) < WINDOW)

    @property
    def waits_for_snapshot(self) -> bool:
        """Return whether the next state may be sent to this viewer as a snapshot."""
        return self.phase is ViewerPhase.WANTS_SNAPSHOT and len(self._snapshots) < SNAPSHOT_WINDOW

    def acknowledge(self, sequence: int) -> bool:
        """Note that everything up to ``sequence`` was applied; return False when that number was never sent."""
        if not self._unacknowledged or sequence > self._unacknowledged[-1]:
            return False
        while self._unacknowledged and self._unacknowledged[0] <= sequence:
            self._unacknowledged.popleft()
        while self._snapshots and self._snapshots[0] <= sequence:
            self._snapshots.popleft()
        if self.phase is ViewerPhase.BEHIND and not self._unacknowledged:
            self._move(ViewerPhase.WANTS_SNAPSHOT)
        return True

    def resync(self) -> None:
        """Note that the viewer found a gap: it needs a snapshot."""
        self._move(ViewerPhase.WANTS_SNAPSHOT)

    def _move(self, phase: ViewerPhase) -> None:
        self.phase = successor(_NEXT, self.phase, phase, f"viewer {self.viewer_id}")

    def may_send_event(self, now: float) -> bool:
        """Take one event from the viewer's budget; return False when the budget is spent."""
        return self._budget.take(now)

    def sent_nonsense(self) -> bool:
        """Count one unusable event from the browser; return True when there were too many."""
        self._bad_events += 1
        return self._bad_events >= BAD_EVENTS_MAX
