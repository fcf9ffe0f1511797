"""The common base of the tables of topics and of groups (RocketMQ: ``ConfigManager``).

RocketMQ writes the whole file at every change, in the thread that made it; a heartbeat with a thousand new groups
would write it a thousand times. Here a change is one of two kinds:

* An administrator's change is on disk before it takes effect and before it is answered. Changes that arrive while the
  file is written share the next write, as messages share a group commit; if it fails, none of them takes effect.
* An entry that the broker creates by itself (a topic that a producer sends to, a group that connects) takes effect
  immediately, and the file is written afterwards: as soon as possible, then at most once per interval. A producer that
  created a topic by sending is answered once it is saved. Entries lost in a crash are created again: a topic at the
  next start, with the queues that have messages, a group by its next heartbeat.

The file is built and written off the loop, from a copy of the table. That takes longer the more entries there are, so a
large table is not written at every change: changes are appended to a journal next to the file
(:mod:`engine.store.files.change_journal`), and the whole file is written when the journal has grown to its size, and at
the end. RocketMQ's tools and brokers only read the file: for a large table, it is complete once the broker was shut
down.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from engine.broker.foundation.errors import ConfigNotSaved, TooManyEntries
from engine.protocol.body.data_version import DataVersion
from engine.protocol.errors import MalformedBody, ProtocolError
from engine.protocol.json_form.json_fields import as_object, get_object
from engine.runtime.future_waits import all_ended, cancel_all, shield
from engine.runtime.port import Clock, DiskFault
from engine.store.files.change_journal import ChangeJournal
from engine.store.files.config_file import ConfigFile

logger = logging.getLogger("glassmq.broker")

#: A table with at most this many entries is written whole at every change: some 50 KB, which take no longer than one
#: line.
WRITTEN_WHOLE_MAX = 200
_GONE = "gone"


class ConfigEntry(Protocol):
    """A topic's or a group's configuration. It is replaced, never modified."""

    def to_dict(self) -> dict[str, object]: ...


_Entry = TypeVar("_Entry", bound=ConfigEntry)


@dataclass(eq=False)
class ConfigTable(Generic[_Entry]):
    """A table of entries by name.

    :param file: the file that stores it.
    :param field: the name of the table in the file.
    :param what: the name of the entries in messages.
    :param max_entries: bound of the table.
    :param write_interval_ms: the minimum interval between writes of entries that the broker creates by itself.
    :ivar entries: the effective entries; always the same dictionary.
    """

    file: ConfigFile
    field: str
    what: str
    clock: Clock
    max_entries: int
    write_interval_ms: int

    def __post_init__(self) -> None:
        self.entries: dict[str, _Entry] = {}
        self.data_version = DataVersion(self.clock.now_ms())
        #: Name -> its wanted entry, None for deletion; they wait for the next write.
        self._wanted: dict[str, _Entry | None] = {}
        self._next_write: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._journal = ChangeJournal(self.file.disk, self.file.path)
        #: Whether the journal cannot express the changes.
        self._is_whole_due = False
        #: Whether ``entries`` has changes that the disk does not have, the names put meanwhile, and the task that
        #: writes them.
        self._is_ahead = False
        self._put: dict[str, None] = {}
        self._follower: asyncio.Task[None] | None = None

    # ------------------------------------------------------------------------------ changes

    def put(self, name: str, entry: _Entry) -> None:
        """Set the entry of ``name`` immediately and write the file later. Raises :class:`TooManyEntries`."""
        self._check_room(name)
        self.entries[name] = entry
        self._put[name] = None
        self.touch()

    def touch(self) -> None:
        """Give the changed table a new version and write the file later."""
        self.data_version.next(self.clock.now_ms())
        self._follow_with_file()

    def _follow_with_file(self) -> None:
        self._is_ahead = True
        if self._follower is None:
            self._follower = asyncio.get_running_loop().create_task(self._follow(), name=f"write {self.file.path}")

    async def change(self, name: str, entry: _Entry | None) -> None:
        """Set the entry of ``name`` (None: delete it) and wait until the change is on disk.

        Raises :class:`TooManyEntries`, and :class:`ConfigNotSaved`: then nothing has changed. RocketMQ logs a failed
        write and continues with a change that its next start will not have.
        """
        if entry is not None:
            self._check_room(name)
        self._wanted[name] = entry
        await self.saved()

    @property
    def is_saved(self) -> bool:
        """Return True if all effective entries are on disk."""
        return not self._is_ahead and not self._writing.locked()

    async def saved(self) -> None:
        """Wait until all changes so far are on disk. Raises :class:`ConfigNotSaved`."""
        if self._next_write is None:
            self._next_write = asyncio.get_running_loop().create_task(
                self._write_wanted(), name=f"change {self.file.path}"
            )
        # Shielded: the end of one connection must not cancel the write for the others.
        await shield(self._next_write)

    def _check_room(self, name: str) -> None:
        if name in self.entries or name in self._wanted:
            return
        new = sum(wanted not in self.entries for wanted in self._wanted)
        if len(self.entries) + new >= self.max_entries:
            raise TooManyEntries(self.what, self.max_entries)

    # ------------------------------------------------------------------------------ the file

    async def _write_wanted(self) -> None:
        async with self._writing:
            # Callers that arrive from here on wait for the write after this one.
            self._next_write = None
            wanted, self._wanted = self._wanted, {}
            await self._write(wanted)

    async def _follow(self) -> None:
        try:
            while self._is_ahead:
                try:
                    async with self._writing:
                        await self._write({})
                except ConfigNotSaved as failure:
                    logger.error("%s; it will be retried", failure)
                await asyncio.sleep(self.write_interval_ms / 1_000)
        finally:
            self._follower = None

    async def _write(self, wanted: Mapping[str, _Entry | None]) -> None:
        """Write the table with ``wanted``, which takes effect then. Raises :class:`ConfigNotSaved`."""
        was_ahead, self._is_ahead = self._is_ahead, False
        put, self._put = self._put, {}
        version = dataclasses.replace(self.data_version)
        if wanted:
            version.next(self.clock.now_ms())
        base = self.file.content
        try:
            if base is None or self._must_write_whole(len(base), len(put) + len(wanted)):
                self._is_whole_due = False  # before the write: changes during the copy are due again
                await self._write_whole(self._content(_changed(dict(self.entries), wanted), version))
            elif was_ahead or wanted:
                if not self._journal.is_begun:
                    await self.file.back_up_off_loop()
                changes = {**{name: self.entries.get(name) for name in put}, **wanted}
                line = await self._journal.append(base, self._line(changes, version))
                if self.file.sharing is not None:
                    await self.file.sharing.line_added(self.file.path, line)
        except DiskFault as fault:
            self._is_ahead = self._is_whole_due = True
            raise ConfigNotSaved(f"{', '.join(wanted) or self.file.path} could not be saved: {fault}") from fault
        if wanted:
            # Not before: name servers that got the version would not read the table again.
            self.data_version.next(version.timestamp)
            _changed(self.entries, wanted)

    async def _write_whole(self, content: Callable[[], dict[str, Any]]) -> None:
        """Write the whole file. Raises ``DiskFault``.

        The backup is written first, then the journal is deleted: it applies to the content of the backup.
        """
        await self.file.save_off_loop(content)
        if self._journal.exists:
            await self.file.back_up_off_loop()
            self._journal.clear()

    def _must_write_whole(self, file_bytes: int, changes: int) -> bool:
        is_small = len(self.entries) <= max(WRITTEN_WHOLE_MAX, 2 * changes)
        return self._is_whole_due or is_small or self._journal.size_bytes >= file_bytes

    def _line(self, changes: Mapping[str, _Entry | None], version: DataVersion) -> dict[str, Any]:
        """Return a line of the journal: as the file, but with the changes only, and the names of deleted entries."""
        kept = {name: entry for name, entry in changes.items() if entry is not None}
        return {**self._content(kept, version)(), _GONE: [name for name in changes if name not in kept]}

    def _content(self, entries: Mapping[str, _Entry], version: DataVersion) -> Callable[[], dict[str, Any]]:
        return lambda: {
            "dataVersion": version.to_dict(),
            self.field: {name: entry.to_dict() for name, entry in entries.items()},
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the file, which is also what tools receive."""
        return self._content(self.entries, self.data_version)()

    def load(self, parse: Callable[[dict[str, Any]], tuple[str, _Entry]]) -> None:
        """Read the file; entries for which ``parse`` raises ``ProtocolError`` are left out with a warning."""
        content = self.file.load()
        if content is not None and not self._read(content, parse):
            self.file.keep_aside()
        for line in self._journal.load(self.file.loaded):
            self._read(line, parse)
            for name in line[_GONE]:
                self.entries.pop(name, None)

    def take_over(self, content: dict[str, Any], parse: Callable[[dict[str, Any]], tuple[str, _Entry]]) -> None:
        """Replace the table by a copy of another broker's, in the file's format; an equal table is left as it is.

        Raises ``MalformedBody`` for another shape.
        """
        self.file.check(content)
        known = self.data_version
        self._read_version(content)
        if self.data_version != known:
            self.entries.clear()
            self._read(content, parse)
            self._is_whole_due = True
            self._follow_with_file()

    def _read(self, content: dict[str, Any], parse: Callable[[dict[str, Any]], tuple[str, _Entry]]) -> bool:
        """Take over the entries in ``content``; return whether all were valid."""
        is_whole = True
        self._read_version(content)
        table = content.get(self.field)
        for name, fields in table.items() if isinstance(table, dict) else ():
            try:
                known_name, entry = parse(as_object(fields))
            except ProtocolError as error:
                logger.warning("%s: %s is left out: %s", self.file.path, name, error)
                is_whole = False
                continue
            self.entries[known_name] = entry
        return is_whole

    def _read_version(self, content: dict[str, Any]) -> None:
        try:
            version = get_object(content, "dataVersion")
            self.data_version = DataVersion.from_dict(version) if version else self.data_version
        except MalformedBody as error:
            logger.warning("%s: its version is not read: %s", self.file.path, error)

    def put_now(self, entries: Mapping[str, _Entry]) -> None:
        """Take over ``entries`` and write the file, blocking; used at the start. Raises ``DiskFault``."""
        self.entries.update(entries)
        self.data_version.next(self.clock.now_ms())
        self.file.save(self.to_dict())
        if self._journal.exists:
            self.file.back_up()
            self._journal.clear()

    async def end_journal(self) -> None:
        """Write everything to the file itself and delete the journal. Raises ``DiskFault``."""
        if self._journal.exists:
            async with self._writing:
                await self._write_whole(self.to_dict)

    async def abandon(self) -> None:
        """Stop writing, like a killed process; a write in progress has ended when this returns."""
        await cancel_all((self._follower, self._next_write))
        self._journal.close()

    async def close(self) -> None:
        """Write pending changes. Raises ``DiskFault``."""
        if self._follower is not None:
            self._follower.cancel()
        if self._next_write is not None:
            await all_ended([self._next_write])
        async with self._writing:
            await self._write_whole(self.to_dict)


def _changed(entries: dict[str, _Entry], wanted: Mapping[str, _Entry | None]) -> dict[str, _Entry]:
    """Apply ``wanted`` to ``entries`` and return it."""
    for name, entry in wanted.items():
        if entry is None:
            entries.pop(name, None)
        else:
            entries[name] = entry
    return entries
