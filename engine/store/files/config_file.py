"""A small JSON file that survives a crash while it is written (RocketMQ: ``ConfigManager``, ``MixAll.string2File``).

The content before the last change is kept as ``<path>.bak``. Whoever loads the file gets the main file, else the
backup, and can tell from ``remarks`` which and why. Where neither has the shape that the table must have
(:mod:`engine.store.files.table_shapes`), it gets what there is, so that the rest of it can be used. A file that cannot
be used as a whole is neither overwritten nor becomes the backup: the next save keeps it as ``<path>.damaged``, for
whoever can still read something in it.
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
    """What was written here did not reach as many others as have to have it."""


class Sharing(Protocol):
    """Others that keep the same file. Methods return when enough of them do, and raise :class:`NotShared`."""

    async def file_saved(self, path: str, content: bytes) -> None: ...
    async def line_added(self, path: str, line: bytes) -> None: ...


class ConfigFile:
    """One file. ``remarks`` says in sentences what ``load`` had to repair.

    :ivar sharing: others that have to have it, too, before it counts as saved off the loop; None: nobody.
    """

    def __init__(self, disk: Disk, path: str) -> None:
        self.disk = disk
        self.path = path
        self.backup_path = path + BACKUP_SUFFIX
        self.remarks: list[str] = []
        #: What the main file is known to hold; None when that is nothing usable.
        self._current: bytes | None = None
        #: What ``load`` has read, from the file or from its backup.
        self.loaded: bytes | None = None
        self._is_damaged = self._is_backup_damaged = False
        self._saving = asyncio.Lock()
        self.sharing: Sharing | None = None

    @property
    def content(self) -> bytes | None:
        """What the main file holds, as far as known: the same object as long as nobody changes it."""
        return self._current

    def load(self) -> dict[str, Any] | None:
        """The JSON object in the file, or in its backup; None when neither holds one."""
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
        """Something in what was loaded could not be used: the next save keeps the file as it is, under another name."""
        self._is_damaged = self._is_damaged or self._current is not None
        self._current = None

    def check(self, content: dict[str, Any]) -> None:
        """Raises ``MalformedBody`` when ``content`` has not the shape of this table."""
        why = why_not_table(self._name, content)
        if why is not None:
            raise MalformedBody(f"{self._name}: {why}")

    def save(self, content: dict[str, Any]) -> None:
        """Replace the file, durably, and keep what it held as the backup. Nothing happens when nothing changed.

        Others wait meanwhile: for start and shutdown.

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
        """As :meth:`save`, while others are served; ``content`` is called beside the loop, see ``Disk.off_loop``.

        Raises :class:`NotShared`, too: then it is saved here.
        """
        async with self._saving:
            await self.disk.off_loop(lambda: self.save(content()))
            if self.sharing is not None and self._current is not None:
                await self.sharing.file_saved(self.path, self._current)

    def back_up(self) -> None:
        """Let the backup be what the file holds, not what it held before. Raises ``DiskFull``, ``DiskFault``."""
        if self._current is not None:
            self.disk.write_whole(self.backup_path, self._current)

    async def back_up_off_loop(self) -> None:
        """As :meth:`back_up`, while others are served."""
        async with self._saving:
            await self.disk.off_loop(self.back_up)

    def _read(self, path: str) -> tuple[dict[str, Any] | None, bytes | None, str]:
        """The object and its bytes, as far as there is one, and what is wrong: "" when nothing is."""
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
            return None, None, f"is no JSON ({error})"
        if not isinstance(content, dict):
            return None, None, "holds no JSON object"
        why = why_not_table(self._name, content)
        return content, data, "" if why is None else f"is no such table ({why})"

    @property
    def _name(self) -> str:
        return self.path.rpartition("/")[2]

    def _remark(self, text: str) -> None:
        self.remarks.append(text)
        _log.error("%s", text)
