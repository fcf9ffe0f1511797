"""A small JSON file that survives a crash while it is written (RocketMQ: ``ConfigManager``, ``MixAll.string2File``).

The content before the last change is kept as ``<path>.bak``. Loading reads the main file, or else the backup, and
``remarks`` says which and why. If neither has the shape of the table (:mod:`engine.store.files.table_shapes`), the
malformed content is returned, so that its valid parts can be used. A file that cannot be used as a whole is neither
overwritten nor made the backup: the next save keeps it as ``<path>.damaged``, for manual recovery.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

from engine.protocol.errors import MalformedBody, ProtocolError
from engine.protocol.json_form.json_text import dumps_pretty_json, loads_json
from engine.runtime.port import Disk, DiskFault
from engine.store.files.table_shapes import why_not_table

_log = logging.getLogger("glassmq.store")

BACKUP_SUFFIX = ".bak"
DAMAGED_SUFFIX = ".damaged"


class NotShared(DiskFault):
    """Too few of the other members received what was written here."""


class Sharing(Protocol):
    """Others that keep the same file. Methods return when enough of them have it, and raise :class:`NotShared`."""

    async def file_saved(self, path: str, content: bytes) -> None: ...
    async def line_added(self, path: str, line: bytes) -> None: ...


class ConfigFile:
    """One configuration file. ``remarks`` lists in sentences what ``load`` had to repair.

    :ivar sharing: replicas that must receive the content before ``save_off_loop`` returns; None: no replicas.
    """

    def __init__(self, disk: Disk, path: str) -> None:
        self.disk = disk
        self.path = path
        self.backup_path = path + BACKUP_SUFFIX
        self.remarks: list[str] = []
        #: The known content of the main file; None if it is not usable.
        self._current: bytes | None = None
        #: The content that ``load`` has read, from the file or from its backup.
        self.loaded: bytes | None = None
        self._is_damaged = self._is_backup_damaged = False
        self._saving = asyncio.Lock()
        self.sharing: Sharing | None = None

    @property
    def content(self) -> bytes | None:
        """Return the known content of the main file: the same object until it changes."""
        return self._current

    def load(self) -> dict[str, Any] | None:
        """Return the JSON object in the file, or in its backup; None if neither contains one."""
        self.remarks.clear()
        self._current = self.loaded = None
        self._is_damaged = self._is_backup_damaged = False
        main, main_data, why = self._read(self.path)
        if not why:
            self._current = self.loaded = main_data
            return main
        self._is_damaged = self.disk.exists(self.path)
        backup, backup_data, why_not_backup = self._read(self.backup_path)
        if not why_not_backup:
            self._remark(f"{self.path} {why}; its backup {self.backup_path} is used")
            self.loaded = backup_data
            return backup
        self._is_backup_damaged = self.disk.exists(self.backup_path)
        rest, self.loaded = (backup, backup_data) if main is None else (main, main_data)
        if self._is_damaged or self._is_backup_damaged:
            end = "it starts empty" if rest is None else "what can be read of it is used"
            self._remark(f"{self.path} {why} and {self.backup_path} {why_not_backup}; {end}")
        return rest

    def keep_aside(self) -> None:
        """Have the next save keep the file under another name, because part of the loaded content could not be used."""
        self._is_damaged = self._is_damaged or self._current is not None
        self._current = None

    def check(self, content: dict[str, Any]) -> None:
        """Raise ``MalformedBody`` unless ``content`` has the shape of this table."""
        why = why_not_table(self._name, content)
        if why is not None:
            raise MalformedBody(f"{self._name}: {why}")

    def save(self, content: dict[str, Any]) -> None:
        """Replace the file durably and keep its previous content as the backup. An unchanged content is not written.

        Blocks, so it is for start and shutdown.

        Raises ``DiskFull``, ``DiskFault``; the old content is then still there, in the file or in its backup.
        """
        data = dumps_pretty_json(content)
        if data == self._current:
            return
        if self._current is not None:
            # A rename is enough: between it and the next line the content is in the backup, which load() knows.
            self.disk.rename(self.path, self.backup_path)
            self._current = None
        elif self._is_damaged:
            self.disk.rename(self.path, self.path + DAMAGED_SUFFIX)
            self._is_damaged = False
        if self._is_backup_damaged:
            self.disk.rename(self.backup_path, self.backup_path + DAMAGED_SUFFIX)
            self._is_backup_damaged = False
        self.disk.write_whole(self.path, data)
        self._current = data

    async def save_off_loop(self, content: Callable[[], dict[str, Any]]) -> None:
        """Save as :meth:`save` does, off the loop; ``content`` is called there, too (``Disk.off_loop``).

        Also raises :class:`NotShared`: then the content is saved here only.
        """
        async with self._saving:
            await self.disk.off_loop(lambda: self.save(content()))
            if self.sharing is not None and self._current is not None:
                await self.sharing.file_saved(self.path, self._current)

    def back_up(self) -> None:
        """Make the backup identical to the file. Raises ``DiskFull``, ``DiskFault``."""
        if self._current is not None:
            self.disk.write_whole(self.backup_path, self._current)

    async def back_up_off_loop(self) -> None:
        """Do the same as :meth:`back_up`, off the loop."""
        async with self._saving:
            await self.disk.off_loop(self.back_up)

    def _read(self, path: str) -> tuple[dict[str, Any] | None, bytes | None, str]:
        """Return the object and its bytes, None if unusable, and what is wrong: "" if nothing is."""
        if not self.disk.exists(path):
            return None, None, "is missing"
        try:
            data = self.disk.read_whole(path)
        except DiskFault as fault:
            return None, None, f"cannot be read ({fault})"
        if not data.strip(b"\0 \r\n\t"):
            return None, None, "is empty"
        try:
            content = loads_json(data, values_max=None)
        except (ProtocolError, ValueError) as error:
            return None, None, f"is not JSON ({error})"
        if not isinstance(content, dict):
            return None, None, "holds no JSON object"
        why = why_not_table(self._name, content)
        return content, data, "" if why is None else f"is not such a table ({why})"

    @property
    def _name(self) -> str:
        return self.path.rpartition("/")[2]

    def _remark(self, text: str) -> None:
        self.remarks.append(text)
        _log.error("%s", text)
