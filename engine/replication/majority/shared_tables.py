"""Replication of a broker's tables in a group: followers write what the leader writes. (DLedger's brokers copy tables
every 10 s, as slaves do, so the answers since the last copy are lost with the leader.)

Whatever the leader writes to its own files it also proposes in the same form, as a whole file or as a line of its
journal, and the client that changed the table is answered when a majority has it. All files were the same when the
leader's term began, so a line applies to every member's file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from engine.replication.majority.majority_entry import (
    SharedFile,
    SharedLine,
    TableEntry,
    TopicsDeleted,
    encode_entry,
)
from engine.replication.raft.errors import NotLeader, RaftError
from engine.replication.raft.raft_peer import RaftPeer
from engine.runtime.port import Disk
from engine.store.files.change_journal import ChangeJournal
from engine.store.files.config_file import ConfigFile, NotShared


class SharingTables:
    """The leader's side of table replication, an ``engine.store.files.config_file.Sharing``.

    :param timeout_ms: how long a change waits for a majority.
    """

    def __init__(self, peer: RaftPeer, timeout_ms: int) -> None:
        self._peer = peer
        self._timeout_ms = timeout_ms
        self._files: tuple[ConfigFile, ...] = ()
        #: Path -> what was proposed last, and what a majority is known to have.
        self._proposed: dict[str, bytes] = {}
        self._committed: dict[str, bytes] = {}

    def begin(self, files: Iterable[ConfigFile]) -> None:
        """Replicate ``files`` from now on: their present content and each change. They have no journals."""
        self._files = tuple(files)
        for file in self._files:
            file.sharing = self
        self.look()

    def end(self) -> None:
        """Stop replicating: the broker writes its files once more when it stops."""
        for file in self._files:
            file.sharing = None

    def look(self) -> None:
        """Propose what was written without waiting for the group."""
        for file in self._files:
            content = file.content
            if content is not None and content is not self._proposed.get(file.path):
                try:
                    self._peer.offer(encode_entry(SharedFile(file.path, content)))
                except RaftError:
                    continue  # the leader is about to step down, or tries again the next time
                self._proposed[file.path] = content

    async def file_saved(self, path: str, content: bytes) -> None:
        """Wait until a majority has ``content``. Raises :class:`NotShared`."""
        if content is self._committed.get(path):
            return
        self._proposed[path] = content
        try:
            await self._share(SharedFile(path, content))
        except NotShared:
            self._proposed.pop(path, None)
            raise
        self._committed[path] = content

    async def line_added(self, path: str, line: bytes) -> None:
        """Wait until a majority has ``line`` of the journal of ``path``. Raises :class:`NotShared`."""
        await self._share(SharedLine(path, line))

    async def topics_deleted(self, log_end_offset: int, topics: Iterable[str]) -> None:
        """Wait until a majority has the entry that deletes the consume queues of ``topics``. Raises
        :class:`NotShared`.
        """
        await self._share(TopicsDeleted(log_end_offset, tuple(topics)))

    async def _share(self, entry: TableEntry) -> None:
        try:
            async with asyncio.timeout(self._timeout_ms / 1_000):
                await self._peer.propose(encode_entry(entry))
        except NotLeader as why:
            raise NotShared(str(why)) from why
        except RaftError as why:
            raise NotShared(f"the group does not take it: {why}") from why
        except TimeoutError as why:
            raise NotShared(
                f"no majority of the group has confirmed it within {self._timeout_ms} ms; it may take effect yet"
            ) from why


class FollowedTables:
    """The follower's side of table replication: keeps the files as the leader has them."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._journals: dict[str, ChangeJournal] = {}

    async def keep(self, entry: SharedFile | SharedLine) -> None:
        """Write what the leader wrote. Raises ``DiskFault``."""
        disk, path = self._disk, entry.path
        if path not in self._journals:
            self._journals[path] = ChangeJournal(disk, path)
        journal = self._journals[path]
        if isinstance(entry, SharedLine):
            await journal.append_line(entry.line)
            return
        await disk.off_loop(lambda: disk.write_whole(path, entry.content))
        if journal.exists:
            # Its lines apply to the old content of the file, or come from a leader that never replicated them.
            journal.clear()

    def close(self) -> None:
        """Stop writing."""
        for journal in self._journals.values():
            journal.close()
        self._journals.clear()
