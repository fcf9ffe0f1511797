"""The lab's journal: one entry per event, and a running hash over everything that happened.

Two runs of one world did the same exactly when their hashes are equal; the hash also covers the bytes of
every frame, so that a difference inside a message shows even where the order of events is the same.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

#: How many entries are kept when nothing else is said; older ones are dropped, the hash still covers them.
JOURNAL_LIMIT = 1_000_000
#: How many entries and frames may wait to be hashed.
_UNHASHED_MAX = 20_000


class JournalEntry(NamedTuple):
    """What one event did. ``cause`` is the number of the event that scheduled it; 0 = from outside."""

    number: int
    time_us: int
    actor: str
    label: str
    cause: int


class LabJournal:
    """Entries in the order of events. ``limit`` bounds how many are kept."""

    def __init__(self, limit: int = JOURNAL_LIMIT) -> None:
        self.entries: list[JournalEntry] = []
        #: Number of the first entry still kept, minus one.
        self.dropped = 0
        self._limit = limit
        self._hash = hashlib.sha256()
        #: What the hash does not cover yet. A world that is only looked at never needs its hash.
        self._unhashed: list[JournalEntry | bytes] = []

    def append(self, entry: JournalEntry) -> None:
        """Add one entry; the hash covers it."""
        self._unhashed.append(entry)
        if len(self._unhashed) > _UNHASHED_MAX:
            self._catch_up()
        entries = self.entries
        entries.append(entry)
        if len(entries) > self._limit:
            # A tenth at a time: dropping one by one would move the whole list for each event.
            excess = max(1, self._limit // 10)
            del entries[:excess]
            self.dropped += excess

    def mix(self, data: bytes) -> None:
        """Let the hash cover ``data`` too, without an entry."""
        self._unhashed.append(data)

    @property
    def hash(self) -> str:
        """SHA-256 of everything so far, in hexadecimal."""
        self._catch_up()
        return self._hash.hexdigest()

    def _catch_up(self) -> None:
        pieces = []
        for piece in self._unhashed:
            if isinstance(piece, bytes):
                pieces.append(piece)
            else:
                number, time_us, actor, label, cause = piece
                pieces.append(f"{number} {time_us} {actor}|{label}|{cause}\n".encode())
        self._hash.update(b"".join(pieces))
        self._unhashed.clear()
