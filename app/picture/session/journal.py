"""Entries of a world's journal, as the page gets them."""

from __future__ import annotations

from typing import TypedDict

from app.picture.frame import Frame
from app.picture.world.listener_call import ListenerBar

#: Number, time in us, actor, label, and the number of the event that scheduled it (0: from outside).
JournalRow = list[int | str]

#: The newest entries; ``from`` is the last one that is left out.
JournalEntries = TypedDict("JournalEntries", {"from": int, "entries": list[JournalRow]})


class JournalPage(TypedDict):
    """Some entries, the oldest first."""

    entries: list[JournalRow]


class JournalMatches(JournalPage):
    """What a search found. A further search begins outside of the numbers that were examined."""

    #: The first number that was examined.
    low: int
    #: The last one.
    high: int


class FrameArrival(TypedDict):
    """What the journal knows of a frame whose bytes are no longer kept."""

    id: None
    source: str
    target: str
    #: Always "frame".
    kind: str
    name: str
    is_oneway: bool
    dropped: bool
    sent_us: int
    arrives_us: int
    #: That of its arrival.
    event: int


class JournalWindow(JournalPage):
    """What happened between two moments."""

    frames: list[Frame | FrameArrival]
    #: N when every Nth entry is included.
    every: int


class PlayedWindow(JournalWindow):
    """The same, with the calls of listeners."""

    calls: list[ListenerBar]
