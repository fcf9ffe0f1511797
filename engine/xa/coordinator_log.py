"""The coordinator's log, which contains what it must know after a crash.

One file, one line per record, each line with a checksum; the first line that is not whole ends the log (a torn write
can only hit the end). Records are appended to the page cache; :meth:`CoordinatorLog.flush` makes them durable. Presumed
abort determines which records have to be flushed::

    started   a process begins; its number is part of every xid     flushed: no xid may be reused
    begun     a global transaction                                  not flushed
    branch    a resource manager joins                              not flushed
    vote      its vote                                              not flushed
    decision  commit: with the branches to notify                  flushed before it is sent
              rollback                                              not flushed: an unknown xid means rollback
    ended     every branch has acknowledged                         not flushed: otherwise it is sent again

When the file is full, and at each start, it is rewritten without finished transactions; so nothing is ever appended
after a torn end.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Mapping

from engine.protocol.errors import ProtocolError
from engine.protocol.json_form.json_text import dumps_json, loads_json
from engine.runtime.port import Disk, DiskFile
from engine.xa.errors import LogFull

_log = logging.getLogger("glassmq.xa")

LOG_PATH = "xa/coordinator.log"

#: One record: flat, with texts, numbers and lists of texts.
CoordinatorRecord = Mapping[str, object]


class CoordinatorLog:
    """The log, opened or created empty. Raises :class:`~engine.runtime.port.DiskFault`.

    :ivar records_read: the records found, oldest first.
    :ivar dropped_bytes: the size of the torn end of a write, after the last whole line.
    :ivar appended: how many records this process appended.
    """

    def __init__(self, disk: Disk, file_bytes: int, path: str = LOG_PATH) -> None:
        self._disk = disk
        self._path = path
        self._file: DiskFile = disk.open_file(path, file_bytes)
        self.appended = 0
        content = self._file.read_at(0, self._file.size_bytes)
        self.records_read, self._end = _read(content)
        self.dropped_bytes = len(content.rstrip(b"\0")) - self._end
        self._flushed = self._end
        self._flushes_running = 0
        if self.dropped_bytes > 0:
            _log.warning("%s: %d bytes after the last whole record are left out", path, self.dropped_bytes)

    @property
    def end(self) -> int:
        """Return the position of the next record, in bytes."""
        return self._end

    @property
    def size_bytes(self) -> int:
        """Return the maximum size of the file."""
        return self._file.size_bytes

    @property
    def flushed(self) -> int:
        """Return the position up to which everything is durable, in bytes."""
        return self._flushed

    def append(self, record: CoordinatorRecord) -> None:
        """Append ``record``. Raises :class:`LogFull`, ``DiskFull`` without any effect."""
        line = _line(record)
        if self._end + len(line) > self._file.size_bytes:
            raise LogFull(f"{self._path} has {self._file.size_bytes} bytes, {self._end} are used")
        self._file.write_at(self._end, line)
        self._end += len(line)
        self.appended += 1

    def has_room_for(self, record: CoordinatorRecord) -> bool:
        """Return whether ``append`` would find room in the file."""
        return self._end + len(_line(record)) <= self._file.size_bytes

    async def flush(self) -> None:
        """Make all appended records durable. Raises ``DiskFault``."""
        file, end = self._file, self._end
        self._flushes_running += 1
        try:
            await file.flush(self._flushed, end)
        finally:
            self._flushes_running -= 1
        if file is self._file:
            self._flushed = max(self._flushed, end)

    def rewrite(self, records: Iterable[CoordinatorRecord]) -> None:
        """Replace the content of the log with ``records``, durably.

        Raises :class:`LogFull`, ``DiskFault``: it then has its previous content.
        """
        data = b"".join(_line(record) for record in records)
        size = self._file.size_bytes
        if len(data) > size // 2:
            raise LogFull(f"{len(data)} of the {size} bytes of {self._path} are about unfinished transactions")
        old = self._file
        self._disk.write_whole(self._path, data)
        self._file = self._disk.open_file(self._path, size)
        if not self._flushes_running:
            old.close()
        self._end = self._flushed = len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _line(record: CoordinatorRecord) -> bytes:
    text = dumps_json(dict(record))
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _read(content: bytes) -> tuple[list[CoordinatorRecord], int]:
    """Return the whole records at the beginning of ``content``, and the position after them."""
    records: list[CoordinatorRecord] = []
    end = 0
    while (stop := content.find(b"\n", end)) >= 0:
        checksum, _, text = content[end:stop].partition(b" ")
        try:
            if int(checksum, 16) != zlib.crc32(text):
                break
            record = loads_json(text)
        except (ValueError, ProtocolError):
            break
        if not isinstance(record, dict):
            break
        records.append(record)
        end = stop + 1
    return records, end
