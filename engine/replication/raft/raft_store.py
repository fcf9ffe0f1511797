"""Term, vote and log of one peer in two files (DLedger: ``DLedgerMmapFileStore``)."""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from engine.replication.raft.raft_core import HardState, RaftOutput
from engine.replication.raft.raft_log import EntryKind, RaftEntry
from engine.runtime.port import AppendFile, Disk, DiskFault

LOG_PATH = "raft/log"
#: Index, term, kind; term.
_ENTRY = struct.Struct(">QQB")
_STATE = struct.Struct(">Q")
#: A longer file of terms and votes is begun anew.
STATE_MAX_BYTES = 65_536

_CHECKSUM = struct.Struct(">I")
_SIZE = struct.Struct(">I")

_log = logging.getLogger("glassmq.raft")


class ChainedFile:
    """Records: checksum, the numbers of ``layout``, the length of the data (4 bytes), data.

    :param keeps: given the numbers of a record, whether its data is wanted now.

    A checksum is of its record *and* of the checksum before it: what a lost tail leaves behind never fits to what is
    written over it. The file ends at the first record that is not whole; the rest is cut off.

    :param least: so many records are certainly durable: with fewer the file is damaged, and left as it is
        (``DiskFault``).
    :ivar found: (numbers, data) of each record that was there; the data of those that are not kept is empty.
    """

    def __init__(
        self,
        disk: Disk,
        path: str,
        layout: struct.Struct,
        keeps: Callable[[tuple[Any, ...]], bool] = lambda numbers: True,
        least: int = 0,
    ) -> None:
        self.file: AppendFile = disk.open_append(path)
        self._layout = layout
        #: Where each record ends, and its checksum.
        self._ends: list[tuple[int, int]] = [(0, 0)]
        self.found: list[tuple[tuple[Any, ...], bytes]] = []
        self._read(keeps, least)

    def append(self, records: Iterable[tuple[tuple[Any, ...], bytes]], after: int | None = None) -> None:
        """Add ``records`` behind the first ``after`` ones (None: all). Raises ``DiskFull``, ``DiskFault``."""
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

    def data_of(self, number: int) -> bytes:
        """Of the record ``number``, the first is 1. Raises ``DiskFault``."""
        begin = self._ends[number - 1][0] + _CHECKSUM.size + self._layout.size + _SIZE.size
        return self.file.read_at(begin, self._ends[number][0] - begin)

    def _read(self, keeps: Callable[[tuple[Any, ...]], bool], least: int) -> None:
        size = self.file.size_bytes
        for numbers, data, end, checksum in whole_records(self.file.read_at, size, self._layout):
            self.found.append((numbers, data if keeps(numbers) else b""))
            self._ends.append((end, checksum))
        end = self._ends[-1][0]
        if len(self.found) < least:
            self.file.close()
            raise DiskFault(
                f"{self.file.path} is damaged at byte {end} of {size}: {len(self.found)} records are whole, {least} "
                "were durable. Who has forgotten what it acknowledged must not vote: begin with an empty folder"
            )
        if end < size:
            _log.warning("%s: %d bytes behind the last whole record are cut off", self.file.path, size - end)
            self.file.truncate(end)


def whole_records(
    read_at: Callable[[int, int], bytes], size_bytes: int, layout: struct.Struct
) -> Iterator[tuple[tuple[Any, ...], bytes, int, int]]:
    """Numbers, data, end and checksum of each record at the beginning of a :class:`ChainedFile`."""
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
    """The whole entries in the file of a log."""
    return [
        RaftEntry(index, term, EntryKind(kind), data)
        for (index, term, kind), data, _, _ in whole_records(
            lambda at, count: content[at : at + count], len(content), _ENTRY
        )
    ]


class RaftStore:
    """Opens ``raft/log`` and ``raft/state``, or makes them. Raises ``DiskFault``.

    :param applied_index: the data of entries up to there stays on the disk.
    :ivar saved: what was found.
    """

    def __init__(self, disk: Disk, applied_index: int = 0) -> None:
        self._disk = disk
        self._entries = ChainedFile(
            disk,
            LOG_PATH,
            _ENTRY,
            lambda numbers: numbers[0] > applied_index or numbers[2] != EntryKind.DATA,
            applied_index,
        )
        self._states = ChainedFile(disk, "raft/state", _STATE)
        state = HardState()
        if self._states.found:
            (term,), name = self._states.found[-1]
            state = HardState(term, name.decode())
        entries = [RaftEntry(index, term, EntryKind(kind), data) for (index, term, kind), data in self._entries.found]
        self.saved = (state, entries)

    def data_of(self, index: int) -> bytes:
        """Of an entry that was written. Raises ``DiskFault``."""
        return self._entries.data_of(index)

    async def write(self, output: RaftOutput, *, flushes_state: bool = True) -> None:
        """Write what ``output`` says; durable when this returns. Raises ``DiskFault``, ``DiskFull``.

        :param flushes_state: False: term and vote stay in the page cache.
        """
        if output.hard_state is not None:
            self._write_state(output.hard_state)
            if flushes_state:
                await self._states.file.flush()
        if output.entries:
            records = [((entry.index, entry.term, entry.kind), entry.data) for entry in output.entries]
            self._entries.append(records, after=output.entries[0].index - 1)
            await self._entries.file.flush()

    def _write_state(self, state: HardState) -> None:
        record = ((state.term,), state.voted_for.encode())
        if self._states.file.size_bytes <= STATE_MAX_BYTES:
            self._states.append([record])
            return
        # A vote that is forgotten may be given twice: the old file stays until the new one is durable.
        self._disk.remove("raft/state.new")
        new = ChainedFile(self._disk, "raft/state.new", _STATE)
        new.append([record])
        new.file.flush_now()
        for file in (new.file, self._states.file):
            file.close()
        self._disk.rename("raft/state.new", "raft/state")
        self._states = ChainedFile(self._disk, "raft/state", _STATE)

    def close(self) -> None:
        """Let go of the files."""
        self._entries.file.close()
        self._states.file.close()
