r"""What has changed in a table since its file was written: a line for each write, in ``<path>.journal``.

RocketMQ has no such file: its ``ConfigManager`` writes the whole table at every change, so what one new topic costs
grows with all that there are. Each line is ``CRC of the rest, in hex | JSON object``, with a line break before and
behind it, so that a torn one, or zeros where the file has grown and its bytes have not come, spoil no other. It says
which content of the file it belongs to, by the CRC of that: a journal that a crash left behind when the file already
held all of it changes nothing. While there is a journal, the file's backup holds the same as the file, so that the
lines also belong to it.
"""

from __future__ import annotations

import logging
import zlib
from typing import Any

from engine.protocol.json_form.json_text import dumps_json, loads_json
from engine.runtime.port import AppendFile, Disk

_log = logging.getLogger("glassmq.store")

JOURNAL_SUFFIX = ".journal"


class ChangeJournal:
    """The journal beside the file at ``path``."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self.path = path + JOURNAL_SUFFIX
        self._file: AppendFile | None = None

    @property
    def is_begun(self) -> bool:
        """Whether something was written since the start, or since it was cleared."""
        return self._file is not None

    @property
    def exists(self) -> bool:
        """Whether there is one, perhaps from before the start."""
        return self._file is not None or self._disk.exists(self.path)

    @property
    def size_bytes(self) -> int:
        """How long it is, as far as it was written since the start."""
        return self._file.size_bytes if self._file is not None else 0

    def load(self, base: bytes | None) -> list[dict[str, Any]]:
        """The changes since the file held ``base``, in order; None: neither it nor its backup is usable, so all are
        wanted. What is left out, damaged or of another content, is told. Raises ``DiskFault``.
        """
        changes = []
        others = 0
        lines = self._disk.read_whole(self.path).split(b"\n") if self._disk.exists(self.path) else []
        for line in filter(None, lines):
            checksum, _, text = line.partition(b" ")
            if checksum != _checksum(text):
                _log.warning(
                    "%s: a line of %d bytes is damaged, or was being written; it is left out", self.path, len(line)
                )
                continue
            change = loads_json(text)
            if base is None or change.pop("base") == _checksum(base).decode():
                changes.append(change)
            else:
                others += 1
        if others:
            _log.warning(
                "%s: %d changes are of another content of the file, and left out: it has them already, "
                "unless somebody has edited it",
                self.path,
                others,
            )
        return changes

    async def append(self, base: bytes, change: dict[str, Any]) -> bytes:
        """Have ``change`` to the file that holds ``base`` on the disk; the line that says so. Raises ``DiskFault``, and
        then it is not known whether it is there: the whole file must be written.
        """
        text = dumps_json({**change, "base": _checksum(base).decode()})
        line = b"\n%b %b\n" % (_checksum(text), text)
        await self.append_line(line)
        return line

    async def append_line(self, line: bytes) -> None:
        """Have a line that :meth:`append` made, here or elsewhere, on the disk. Raises ``DiskFault``."""
        if self._file is None:
            self._file = self._disk.open_append(self.path)
        self._file.append(line)
        await self._file.flush()

    def clear(self) -> None:
        """The file holds it all. Raises ``DiskFault``."""
        self.close()
        self._disk.remove(self.path)

    def close(self) -> None:
        """Write no more."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _checksum(data: bytes) -> bytes:
    return b"%08x" % zlib.crc32(data)
