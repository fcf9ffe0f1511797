r"""A journal of the changes to a table since its file was written: a line for each write, in ``<path>.journal``.

RocketMQ has no such file: its ``ConfigManager`` writes the whole table at every change, so the cost of a new topic
grows with the number of topics. Each line is ``CRC of the rest, in hex | JSON object``, with a line break before and
after it, so that a torn line, or zeros where the file has grown but its bytes were not written, do not damage the
others. Each line names, by its CRC, the file content to which it applies: a journal that a crash left although the file
already contained all its changes has no effect. While there is a journal, the file's backup is identical to the file,
so that the lines apply to it, too.
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
    """The journal of the file at ``path``."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self.path = path + JOURNAL_SUFFIX
        self._file: AppendFile | None = None

    @property
    def is_begun(self) -> bool:
        """Return whether anything was written since the start, or since the journal was cleared."""
        return self._file is not None

    @property
    def exists(self) -> bool:
        """Return whether a journal exists, perhaps from before the start."""
        return self._file is not None or self._disk.exists(self.path)

    @property
    def size_bytes(self) -> int:
        """Return the size of what was written since the start."""
        return self._file.size_bytes if self._file is not None else 0

    def load(self, base: bytes | None) -> list[dict[str, Any]]:
        """Return the changes since the file had the content ``base``, in order.

        With None neither the file nor its backup is usable, and all changes are returned. Lines left out because they
        are damaged or belong to another content are logged. Raises ``DiskFault``.
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
        """Write ``change`` to the file content ``base`` durably and return its line.

        Raises ``DiskFault``; then it is unknown whether the line is on disk, and the whole file must be written.
        """
        text = dumps_json({**change, "base": _checksum(base).decode()})
        line = b"\n%b %b\n" % (_checksum(text), text)
        await self.append_line(line)
        return line

    async def append_line(self, line: bytes) -> None:
        """Write a line that :meth:`append` returned, here or elsewhere, durably. Raises ``DiskFault``."""
        if self._file is None:
            self._file = self._disk.open_append(self.path)
        self._file.append(line)
        await self._file.flush()

    def clear(self) -> None:
        """Delete the journal, because the file contains all its changes. Raises ``DiskFault``."""
        self.close()
        self._disk.remove(self.path)

    def close(self) -> None:
        """Close the journal for writing."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _checksum(data: bytes) -> bytes:
    return b"%08x" % zlib.crc32(data)
