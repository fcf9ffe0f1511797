"""Parts of a run's journal that a page requests: the stream sends only the newest entries, and leaves gaps.

Entries are sent as ``[number, time_us, actor, label, cause]``. Everything here is bounded: a page requests the next
part.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.lab.views.world_view import node_of
from engine.lab.narration.relevance import is_event_relevant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.lab.views.frames import FramesView
    from app.picture.session.journal import FrameArrival, JournalMatches, JournalPage, JournalRow, JournalWindow
    from engine.runtime.lab.lab_journal import JournalEntry, LabJournal

#: Entries of one answer, and entries that one search examines.
PAGE_MAX = 500
SEARCHED_MAX = 20_000
#: Entries and frames of a window of time. Of more entries every Nth is sent: they would cover each other.
WINDOW_ENTRIES_MAX = 2_000
WINDOW_FRAMES_MAX = 500


@dataclass(frozen=True, slots=True)
class JournalFilter:
    """The filter of a search. ``text`` is searched in actor, label and ``#number``, ignoring case; empty fields match
    all.

    :ivar matters: housekeeping is left out, see :mod:`engine.lab.narration.relevance`.
    """

    text: str = ""
    node: str = ""
    matters: bool = False

    def fits(self, entry: JournalEntry) -> bool:
        """Return whether ``entry`` matches."""
        if self.node and node_of(entry.actor) != self.node:
            return False
        if self.matters and not is_event_relevant(entry.actor, entry.label):
            return False
        return not self.text or self.text in f"{entry.actor} {entry.label} #{entry.number}".lower()


def entries_after(journal: LabJournal, number: int, count: int) -> JournalPage:
    """Return at most ``count`` entries after entry ``number``."""
    start = max(0, number - journal.dropped)
    return {"entries": [list(entry) for entry in journal.entries[start : start + min(count, PAGE_MAX)]]}


def search_backward(journal: LabJournal, wanted: JournalFilter, below: int) -> JournalMatches:
    """Return matches before entry ``below``; the next page is below ``low``."""
    end = min(below - 1, journal.dropped + len(journal.entries))
    start = max(journal.dropped, end - SEARCHED_MAX)
    searched = journal.entries[start - journal.dropped : max(0, end - journal.dropped)]
    found, last = _matches(reversed(searched), wanted)
    return {"entries": found[::-1], "low": last or start + 1, "high": end}


def search_forward(journal: LabJournal, wanted: JournalFilter, above: int) -> JournalMatches:
    """Return matches after entry ``above``; the next page is above ``high``."""
    start = max(above, journal.dropped)
    high = min(start + SEARCHED_MAX, journal.dropped + len(journal.entries))
    found, last = _matches(journal.entries[start - journal.dropped : max(0, high - journal.dropped)], wanted)
    return {"entries": found, "low": start + 1, "high": last or high}


def _matches(entries: Iterable[JournalEntry], wanted: JournalFilter) -> tuple[list[JournalRow], int]:
    """Return one page of matches, and the number of the last one if the page is full, else 0."""
    found: list[JournalRow] = []
    for entry in entries:
        if wanted.fits(entry):
            found.append(list(entry))
            if len(found) >= PAGE_MAX:
                return found, entry.number
    return found, 0


def window(journal: LabJournal, frames: FramesView, event: int, left_us: int, right_us: int) -> JournalWindow:
    """Return what happened between two moments, up to event ``event``.

    Frames whose bytes are no longer kept are known by their arrival
    only: they have no number.
    """
    entries = journal.entries
    stop = max(0, min(len(entries), event - journal.dropped))
    first = bisect_left(entries, left_us, 0, stop, key=_time_of)
    end = bisect_right(entries, right_us, first, stop, key=_time_of)
    every = max(1, -(-(end - first) // WINDOW_ENTRIES_MAX))
    kept = frames.between(left_us, right_us, WINDOW_FRAMES_MAX)
    oldest_us = frames.oldest_us
    lost_to = end if oldest_us is None else bisect_left(entries, oldest_us, first, end, key=_time_of)
    arrivals = [arrow for entry in entries[first:lost_to] if (arrow := _arrival(journal, entry)) is not None]
    step = max(1, -(-len(arrivals) // WINDOW_FRAMES_MAX))
    return {
        "entries": [list(entry) for entry in entries[first:end][::every]],
        "frames": [*arrivals[::step], *kept],
        "every": every,
    }


def _time_of(entry: JournalEntry) -> int:
    return entry.time_us


def _arrival(journal: LabJournal, entry: JournalEntry) -> FrameArrival | None:
    """Return what the journal knows of a frame that arrived. None for any other event."""
    source, arrow, target = entry.actor.partition("->")
    index = entry.cause - journal.dropped - 1
    if not arrow or not 0 <= index < len(journal.entries):
        return None
    return {
        "id": None,
        "source": source,
        "target": target.partition("#")[0],
        "kind": "frame",
        "name": entry.label,
        "is_oneway": False,
        "dropped": False,
        "sent_us": journal.entries[index].time_us,
        "arrives_us": entry.time_us,
        "event": entry.number,
    }
