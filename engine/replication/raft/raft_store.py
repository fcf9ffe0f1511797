"""Term, vote and log of one peer in two files (DLedger: ``DLedgerMmapFileStore``)."""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from engine.replication.raft.hard_state import HardState, JoinReason
from engine.replication.raft.raft_log import EntryKind, RaftEntry
from engine.replication.raft.raft_output import RaftOutput
from engine.replication.raft.raft_state_file import STATE_PATH, SavedState, StateFile, read_state
from engine.runtime.port import AppendFile, Disk, DiskFault

LOG_PATH = "raft/log"
#: Index, term, kind.
ENTRY_LAYOUT = struct.Struct(">QQB")
#: State of older versions, which appended each state to the file: term, and the vote as data.
_OLD_STATE = struct.Struct(">Q")

_CHECKSUM = struct.Struct(">I")
_SIZE = struct.Struct(">I")

_log = logging.getLogger("glassmq.raft")


class ChainedFile:
    """A file of records: checksum, the numbers of ``layout``, the length of the data (4 bytes), data.

    :param keeps: given the numbers of a record, returns whether its data is needed now.

    A checksum covers its record *and* the checksum before it, so that the rest of a lost tail never matches what is
    written over it. The file ends at the first record that is damaged; the rest is cut off.

    :ivar found: (numbers, data) of each record that was in the file; the data of those that are not kept is empty.
    """

    def __init__(
        self,
        disk: Disk,
        path: str,
        layout: struct.Struct,
        keeps: Callable[[tuple[Any, ...]], bool] = lambda numbers: True,
    ) -> None:
        self.file: AppendFile = disk.open_append(path)
        self._layout = layout
        #: End and checksum of each record.
        self._ends: list[tuple[int, int]] = [(0, 0)]
        self.found: list[tuple[tuple[Any, ...], bytes]] = []
        self._read(keeps)

    def append(self, records: Iterable[tuple[tuple[Any, ...], bytes]], after: int | None = None) -> None:
        """Append ``records`` after the first ``after`` ones (None: after all). Raises ``DiskFull``, ``DiskFault``."""
        if after is not None:
            del self._ends[after + 1 :]
        end, checksum = self._ends[-1]
        if end < self.file.size_bytes:
            self.file.truncate(end)
        written = bytearray()
        for numbers, data in records:
            record = self._layout.pack(*numbers) + _SIZE.pack(len(data)) + data
            checksum = zlib.crc32(record, checksum)
            written += _CHECKSUM.pack(checksum) + record
            self._ends.append((end + len(written), checksum))
        self.file.append(written)

    @property
    def count(self) -> int:
        """Return the number of records."""
        return len(self._ends) - 1

    def checksum_at(self, number: int) -> int:
        """Return the checksum of the record ``number`` and, through the chain, of all before it; 0 before the first."""
        return self._ends[number][1]

    def data_of(self, number: int) -> bytes:
        """Return the data of the record ``number``, where the first is 1. Raises ``DiskFault``, also when it is
        damaged.
        """
        (begin, before), (end, checksum) = self._ends[number - 1 : number + 1]
        record = self.file.read_at(begin + _CHECKSUM.size, end - begin - _CHECKSUM.size)
        if zlib.crc32(record, before) != checksum:
            raise DiskFault(f"{self.file.path} is damaged between its bytes {begin} and {end}")
        return record[self._layout.size + _SIZE.size :]

    def rewrite_from(self, number: int) -> None:
        """Write the records after the first ``number`` once more, durably: it is unknown whether they were durable."""
        begin, end = self._ends[number][0], self._ends[-1][0]
        if begin < end:
            data = self.file.read_at(begin, end - begin)
            self.file.truncate(begin)
            self.file.append(data)
            self.file.flush_now()

    def _read(self, keeps: Callable[[tuple[Any, ...]], bool]) -> None:
        size = self.file.size_bytes
        for numbers, data, end, checksum in whole_records(self.file.read_at, size, self._layout):
            self.found.append((numbers, data if keeps(numbers) else b""))
            self._ends.append((end, checksum))
        end = self._ends[-1][0]
        if end < size:
            _log.warning("%s: %d bytes after the last whole record are cut off", self.file.path, size - end)
            self.file.truncate(end)


def whole_records(
    read_at: Callable[[int, int], bytes], size_bytes: int, layout: struct.Struct
) -> Iterator[tuple[tuple[Any, ...], bytes, int, int]]:
    """Yield numbers, data, end and checksum of each undamaged record at the beginning of a :class:`ChainedFile`."""
    at = checksum = 0
    head_size = _CHECKSUM.size + layout.size + _SIZE.size
    while size_bytes - at >= head_size:
        head = read_at(at, head_size)
        (wanted,) = _CHECKSUM.unpack_from(head)
        (size,) = _SIZE.unpack_from(head, head_size - _SIZE.size)
        end = at + head_size + size
        if end > size_bytes:
            return
        data = read_at(at + head_size, size)
        checksum = zlib.crc32(data, zlib.crc32(head[_CHECKSUM.size :], checksum))
        if checksum != wanted:
            return
        yield layout.unpack_from(head, _CHECKSUM.size), data, end, checksum
        at = end


def entries_in(content: bytes) -> list[RaftEntry]:
    """Return the undamaged entries in the file of a log."""
    return [
        RaftEntry(index, term, EntryKind(kind), data)
        for (index, term, kind), data, _, _ in whole_records(
            lambda at, count: content[at : at + count], len(content), ENTRY_LAYOUT
        )
    ]


def old_state(content: bytes, end: int, checksum_at: Callable[[int], int]) -> SavedState | None:
    """Return the last state in a ``raft/state`` of an older version, which did not record the end of the log: the log
    is taken as it is.
    """
    states = list(whole_records(lambda at, count: content[at : at + count], len(content), _OLD_STATE))
    if not states:
        return None
    (term,), name, _, _ = states[-1]
    return SavedState(HardState(term, name.decode()), end, checksum_at(end))


def join_reason(found: SavedState | None, count: int, checksum: int, last_term: int, applied_index: int) -> JoinReason:
    """Return why a member with these files cannot know everything that it has voted and acknowledged; NONE if it can.

    :param count: undamaged entries in the log; ``checksum`` is that of the entry where the log ended according to
        ``found``.
    :param last_term: term of the last undamaged entry.
    """
    if found is None and not count and not applied_index:
        return JoinReason.NEW
    if found is None or last_term > found.hard_state.term:
        return JoinReason.LOST_STATE
    if count < max(found.log_end, applied_index) or checksum != found.log_checksum:
        return JoinReason.DAMAGED_LOG
    return JoinReason.NONE


class RaftStore:
    """Open or create ``raft/log`` and ``raft/state``. Raises ``DiskFault``.

    A member whose files do not hold everything that it has ever voted and acknowledged joins again, as ``RaftCore``
    describes.

    :param applied_index: the data of entries up to there stays on the disk.
    :param draw_number: returns the number of a joining, at least 1.
    :param is_first_start: the operator states that this peer has never run; otherwise an empty folder counts as lost
        data.
    :ivar saved: the state that was found.
    """

    def __init__(
        self, disk: Disk, applied_index: int = 0, *, draw_number: Callable[[], int], is_first_start: bool = False
    ) -> None:
        content = disk.read_whole(STATE_PATH) if disk.exists(STATE_PATH) else b""
        self._entries = ChainedFile(
            disk, LOG_PATH, ENTRY_LAYOUT, lambda numbers: numbers[0] > applied_index or numbers[2] != EntryKind.DATA
        )
        entries = [RaftEntry(index, term, EntryKind(kind), data) for (index, term, kind), data in self._entries.found]
        last_term = entries[-1].term if entries else 0
        number, found = read_state(content) or (0, old_state(content, self._entries.count, self._entries.checksum_at))
        state = found.hard_state if found is not None else HardState()
        log_end = min(found.log_end if found is not None else 0, self._entries.count)
        reason = join_reason(found, self._entries.count, self._entries.checksum_at(log_end), last_term, applied_index)
        if reason is not JoinReason.NONE and not (is_first_start and reason is JoinReason.NEW):
            state = HardState(max(last_term, state.term), "", draw_number(), reason)
            level = logging.INFO if reason is JoinReason.NEW else logging.WARNING
            _log.log(level, "this member joins its group, and does not vote until it is admitted: %s", reason.words)
        if found is not None:
            # It is unknown whether the records after it were flushed; they cannot have been acknowledged.
            self._entries.rewrite_from(log_end)
        self._state = state
        self._states = StateFile(disk, number, self._with_end(self._entries.count))
        self.saved = (state, entries)

    def _with_end(self, end: int) -> SavedState:
        return SavedState(self._state, end, self._entries.checksum_at(end))

    def data_of(self, index: int) -> bytes:
        """Return the data of an entry that was written. Raises ``DiskFault``."""
        return self._entries.data_of(index)

    async def write(self, output: RaftOutput, *, flushes_state: bool = True) -> None:
        """Write what ``output`` requires; it is durable when this returns. Raises ``DiskFault``, ``DiskFull``.

        There are three steps, each flushed: term and vote, with the log's end before anything that is replaced; the
        entries; the new end of the log. So the state is never older than the log, and no entry is acknowledged that the
        state does not record.

        :param flushes_state: False: term and vote stay in the page cache.
        """
        self._state = output.hard_state or self._state
        kept = min(self._entries.count, output.entries[0].index - 1 if output.entries else self._entries.count)
        gives_way = kept < self._entries.count
        if output.hard_state is not None or gives_way:
            self._states.write(self._with_end(kept))
            if flushes_state or gives_way:
                await self._states.flush()
        if output.entries:
            records = [((entry.index, entry.term, entry.kind), entry.data) for entry in output.entries]
            self._entries.append(records, after=kept)
            await self._entries.file.flush()
            self._states.write(self._with_end(self._entries.count))
            await self._states.flush()

    def close(self) -> None:
        """Close the files."""
        self._entries.file.close()
        self._states.close()
