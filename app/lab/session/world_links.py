"""The links of one world: the one to its current event, and those by which its owner may come back."""

from __future__ import annotations

from engine.lab.run.run import LabRun

#: Seconds between new links of a moving world: its link changes with every event.
LINK_INTERVAL_S = 1.0
#: Earlier links that are kept.
LINKS_KEPT = 50


class WorldLinks:
    """The links of one world."""

    def __init__(self) -> None:
        self._text = ""
        self._made_from = (-1, -1, -1)
        self._made_at = -LINK_INTERVAL_S
        self._known: dict[str, None] = {}

    def remember(self, link: str) -> None:
        """Note that ``link`` leads here."""
        self._known[link] = None
        if len(self._known) > LINKS_KEPT:
            del self._known[next(iter(self._known))]

    def leads_here(self, link: str) -> bool:
        """Return whether the world was built from ``link``, or was at its event."""
        return link in self._known

    def current(self, run: LabRun, now: float, *, is_moving: bool) -> str:
        """Return the link to the event of ``run``; while it moves, to an event a moment ago."""
        place = (run.event_number, run.now_us, len(run.commands))
        is_fresh = place == self._made_from or (is_moving and now - self._made_at < LINK_INTERVAL_S)
        if not self._text or not is_fresh:
            self._text, self._made_from, self._made_at = run.link(), place, now
            self.remember(self._text)
        return self._text
