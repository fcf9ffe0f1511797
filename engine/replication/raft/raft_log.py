"""The log of one peer (DLedger: ``DLedgerStore``), in memory except for the data of entries applied long ago."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from engine.replication.raft.errors import CommittedEntryConflict


class EntryKind(IntEnum):
    """Kind of an entry."""

    #: First entry of a new leader's term: when it is committed, so is everything before it.
    NO_OP = 0
    DATA = 1
    #: The names of all voters from here on, one per line.
    MEMBERSHIP = 2


@dataclass(frozen=True, slots=True)
class RaftEntry:
    """One entry of the log. The first has index 1."""

    index: int
    term: int
    kind: EntryKind
    data: bytes


class RaftLog:
    """The log of one peer.

    :ivar entries: all entries, oldest first; those up to ``released_index`` without their data.
    :ivar commit_index: a majority has the entries up to this index, as far as this peer knows; not kept on disk.
    :ivar read_data: reads the data of a released entry back, given its index.
    """

    read_data: Callable[[int], bytes]

    def __init__(self, entries: Sequence[RaftEntry] = ()) -> None:
        self.entries = list(entries)
        self.commit_index = 0
        self.released_index = 0

    @property
    def last_index(self) -> int:
        """Return the index of the last entry; 0 if the log is empty."""
        return len(self.entries)

    @property
    def last_term(self) -> int:
        """Return the term of the last entry; 0 if the log is empty."""
        return self.term_at(self.last_index)

    def term_at(self, index: int) -> int:
        """Return the term of the entry at ``index``: 0 before the first entry, -1 if there is no such entry."""
        if not 0 < index <= self.last_index:
            return 0 if index == 0 else -1
        return self.entries[index - 1].term

    def slice(self, first: int, count: int, max_bytes: int) -> tuple[RaftEntry, ...]:
        """Return up to ``count`` entries from index ``first``, together at most ``max_bytes`` unless the first one is
        larger.
        """
        taken: list[RaftEntry] = []
        size = 0
        for entry in self.entries[first - 1 : first - 1 + count]:
            if entry.index <= self.released_index and entry.kind is EntryKind.DATA:
                entry = replace(entry, data=self.read_data(entry.index))
            size += len(entry.data)
            if taken and size > max_bytes:
                break
            taken.append(entry)
        return tuple(taken)

    def release(self, index: int) -> None:
        """Keep the data of the entries up to ``index``, which are committed, only on disk."""
        assert index <= self.commit_index
        for number in range(self.released_index, index):
            if self.entries[number].kind is EntryKind.DATA:
                self.entries[number] = replace(self.entries[number], data=b"")
        self.released_index = max(self.released_index, index)

    def is_behind(self, last_index: int, last_term: int) -> bool:
        """Return whether a log with this last entry is less up to date than this one (paper, 5.4.1)."""
        return (last_term, last_index) < (self.last_term, self.last_index)

    def append(self, term: int, kind: EntryKind, data: bytes) -> RaftEntry:
        """Append an entry as the leader."""
        entry = RaftEntry(self.last_index + 1, term, kind, data)
        self.entries.append(entry)
        return entry

    def merge(self, entries: Sequence[RaftEntry]) -> tuple[RaftEntry, ...]:
        """Append entries as a follower; they follow an entry that both logs have. Return those that are new here.

        Entries that are already here stay; from the first conflict on, this log's entries are replaced. Raises
        :class:`CommittedEntryConflict`, and changes nothing, if a committed entry would have to be replaced.
        """
        for number, entry in enumerate(entries):
            if self.term_at(entry.index) != entry.term:
                if entry.index <= self.commit_index:
                    raise CommittedEntryConflict(
                        f"entry {entry.index} is committed here, of term {self.term_at(entry.index)}, and a leader "
                        f"sends another one, of term {entry.term}: one of the two has lost its log"
                    )
                new = tuple(entries[number:])
                self.entries[entry.index - 1 :] = new
                return new
        return ()

    def first_index_of_term_at(self, index: int) -> int:
        """Return the index at which the run of entries with the term of ``index`` begins."""
        term = self.term_at(index)
        while index > 1 and self.term_at(index - 1) == term:
            index -= 1
        return index

    def commit(self, index: int) -> tuple[RaftEntry, ...]:
        """Mark everything up to ``index`` as committed. Return the entries that were not committed before."""
        newly = tuple(self.entries[self.commit_index : index])
        self.commit_index = max(self.commit_index, min(index, self.last_index))
        return newly
