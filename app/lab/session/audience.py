"""The browsers that watch one world: one snapshot each, then as many patches as they acknowledge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from app.foundation.patch import Operation, difference
from app.foundation.viewer import Viewer

if TYPE_CHECKING:
    from app.picture.session.journal import JournalEntries
    from app.picture.session.messages import WorldPatch, WorldSnapshot
    from app.picture.world.playing import PlayedWorld


class AudienceTransport(Protocol):
    """Carries messages to browsers. Neither method may block for long."""

    def send(self, viewer_ids: list[str], event: str, payload: Mapping[str, object]) -> None: ...

    def disconnect(self, viewer_id: str, reason: str) -> None: ...


class JournalSource(Protocol):
    """The source of the entries in the page's event log and sequence diagram."""

    def journal_after(self, number: int) -> JournalEntries:
        """Return the newest entries after entry ``number``."""
        ...


class _JournalPlace(NamedTuple):
    """The number of the last journal entry that a viewer was sent, and whether it has later entries that are gone."""

    number: int
    must_cut: bool = False


_JOURNAL_BEGIN = _JournalPlace(0, must_cut=True)


class Audience:
    """The viewers of one world. Used by the lab's thread only.

    :param world: the world's id.
    :param owner: the browser that may control it.
    """

    def __init__(self, transport: AudienceTransport, world: str, owner: str) -> None:
        self._transport = transport
        self._world = world
        self._owner = owner
        self._viewers: dict[str, tuple[Viewer, str]] = {}
        self._journal_at: dict[str, _JournalPlace] = {}
        self._view: PlayedWorld | None = None
        self._sequence = 0

    def add(self, viewer_id: str, browser: str, now: float) -> None:
        """Add a viewer, a page of ``browser``, which gets the next view as a snapshot."""
        self._viewers[viewer_id] = (Viewer(viewer_id, now), browser)
        self._journal_at[viewer_id] = _JOURNAL_BEGIN

    def remove(self, viewer_id: str) -> None:
        """Remove a viewer that is gone."""
        self._viewers.pop(viewer_id, None)
        self._journal_at.pop(viewer_id, None)

    @property
    def count(self) -> int:
        """Return the number of viewers."""
        return len(self._viewers)

    def acknowledge(self, viewer_id: str, sequence: int) -> None:
        """Note that the viewer has applied everything up to ``sequence``.

        Late acknowledgements of another world are ignored.
        """
        if viewer_id in self._viewers:
            self._viewers[viewer_id][0].acknowledge(sequence)

    def resync(self, viewer_id: str) -> None:
        """Note that the viewer found a gap: it needs a snapshot."""
        if viewer_id in self._viewers:
            self._viewers[viewer_id][0].resync()

    def viewer_ids(self) -> list[str]:
        """Return the ids of the viewers."""
        return list(self._viewers)

    @property
    def has_room(self) -> bool:
        """Return whether any viewer may get a view now.

        A viewer that has not acknowledged the last ones would only lag further.
        """
        return any(viewer.has_room for viewer, _ in self._viewers.values())

    @property
    def wants_snapshot(self) -> bool:
        """Return whether a viewer waits for a whole view."""
        return any(viewer.waits_for_snapshot for viewer, _ in self._viewers.values())

    def forget_journal(self, number: int) -> None:
        """Note that the entries after ``number`` have been replaced by a fork."""
        for viewer_id, known in self._journal_at.items():
            if known.number > number:
                self._journal_at[viewer_id] = _JournalPlace(number, must_cut=True)

    def publish(self, view: PlayedWorld, journal: JournalSource) -> None:
        """Send ``view`` to all viewers: the difference to those that have the last one, all of it to the others."""
        operations: list[Operation] = [] if self._view is None else difference(self._view, view)
        if self._view is None or operations:
            self._sequence += 1
        self._view = view
        viewers = [viewer for viewer, _ in self._viewers.values()]
        for_patch = [v.viewer_id for v in viewers if operations and v.takes_patch(self._sequence)]
        for_snapshot = [pair for pair in self._viewers.values() if pair[0].takes_snapshot(self._sequence)]
        if for_patch:
            self._send_journal(for_patch, journal)
            patch: WorldPatch = {"sequence": self._sequence, "operations": operations}
            self._transport.send(for_patch, "patch", patch)
        for viewer, browser in for_snapshot:
            snapshot: WorldSnapshot = {
                "sequence": self._sequence,
                "world": self._world,
                "mine": browser == self._owner,
                "view": view,
            }
            self._transport.send([viewer.viewer_id], "snapshot", snapshot)
            self._journal_at[viewer.viewer_id] = _JOURNAL_BEGIN
            self._send_journal([viewer.viewer_id], journal)

    def _send_journal(self, viewer_ids: list[str], journal: JournalSource) -> None:
        """Send each viewer the entries that it lacks; viewers that lack the same share one message."""
        by_place: dict[_JournalPlace, list[str]] = {}
        for viewer_id in viewer_ids:
            by_place.setdefault(self._journal_at[viewer_id], []).append(viewer_id)
        for place, group in by_place.items():
            fresh = journal.journal_after(place.number)
            if not fresh["entries"] and not place.must_cut:
                continue
            # What comes after the place is gone, also where the newest entries begin later.
            message = {**fresh, "from": place.number} if place.must_cut else fresh
            self._transport.send(group, "journal", message)
            last = int(fresh["entries"][-1][0]) if fresh["entries"] else place.number
            for viewer_id in group:
                self._journal_at[viewer_id] = _JournalPlace(last)
