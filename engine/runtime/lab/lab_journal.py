"""The lab's journal: one entry per event, and a running hash over everything that happened.

Two runs of a world were identical if and only if their hashes are equal; the hash also covers the bytes of every frame,
so that a difference inside a message shows even if the order of events is the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from operator import eq
from typing import NamedTuple, overload

#: How many entries are kept by default; older ones are dropped, but the hash still covers them.
JOURNAL_LIMIT = 1_000_000
#: The maximum number of frames that wait to be hashed.
_UNHASHED_MAX = 5_000

#: The stored form of an entry. Python's garbage collector stops tracking plain tuples of texts and numbers, but never
#: named ones; with dozens of worlds of ten thousand events each, tracking would take most of the time of a collection.
_Row = tuple[int, int, str, str, int]


class JournalEntry(NamedTuple):
    """One event. ``cause`` is the number of the event that scheduled it; 0: from outside."""

    number: int
    time_us: int
    actor: str
    label: str
    cause: int


class JournalEntries(Sequence[JournalEntry]):
    """The entries of a journal, for reading; it grows with the journal."""

    __slots__ = ("_rows",)

    def __init__(self, rows: list[_Row]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> JournalEntry: ...

    @overload
    def __getitem__(self, index: slice) -> list[JournalEntry]: ...

    def __getitem__(self, index: int | slice) -> JournalEntry | list[JournalEntry]:
        if isinstance(index, slice):
            return [JournalEntry(*row) for row in self._rows[index]]
        return JournalEntry(*self._rows[index])

    def __iter__(self) -> Iterator[JournalEntry]:
        return (JournalEntry(*row) for row in self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(other) == len(self) and all(map(eq, self._rows, other))

    __hash__ = None  # type: ignore[assignment]  # as for a list

    def __repr__(self) -> str:
        return repr(list(self))


class LabJournal:
    """A journal, in the order of events. ``limit`` bounds how many entries are kept."""

    def __init__(self, limit: int = JOURNAL_LIMIT) -> None:
        self._rows: list[_Row] = []
        self.entries = JournalEntries(self._rows)
        #: Number of the first entry still kept, minus one.
        self.dropped = 0
        self._limit = limit
        self._hash = hashlib.sha256()
        #: How many entries the hash covers.
        self._hashed = 0
        #: Data that the hash does not cover yet: how many entries precede the data. A world that is only viewed never
        #: needs its hash.
        self._unhashed: list[tuple[int, bytes]] = []

    def append(self, number: int, time_us: int, actor: str, label: str, cause: int) -> None:
        """Add one entry, which the hash covers."""
        rows = self._rows
        rows.append((number, time_us, actor, label, cause))
        if len(rows) > self._limit:
            # A tenth at a time: dropping entries one by one would move the whole list for each event.
            self._catch_up()
            excess = max(1, self._limit // 10)
            del rows[:excess]
            self.dropped += excess

    def mix(self, data: bytes) -> None:
        """Include ``data`` in the hash, without an entry."""
        self._unhashed.append((self.dropped + len(self._rows), data))
        if len(self._unhashed) > _UNHASHED_MAX:
            self._catch_up()

    @property
    def hash(self) -> str:
        """Return the SHA-256 of everything so far, in hexadecimal."""
        self._catch_up()
        return self._hash.hexdigest()

    def _catch_up(self) -> None:
        first, last = self._hashed - self.dropped, len(self._rows)
        texts = [
            f"{number} {time_us} {actor}|{label}|{cause}\n"
            for number, time_us, actor, label, cause in self._rows[first:last]
        ]
        pieces: list[bytes] = []
        done = self._hashed
        for count, data in (*self._unhashed, (self._hashed + len(texts), b"")):
            if count > done:
                pieces.append("".join(texts[done - self._hashed : count - self._hashed]).encode())
                done = count
            pieces.append(data)
        self._hash.update(b"".join(pieces))
        self._hashed = done
        self._unhashed.clear()
