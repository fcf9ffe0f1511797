"""A bank's database: a real SQLite database on the node's disk.

::

    open connection (memory)                    disk, through the port
    BEGIN ... UPDATE ... INSERT ...             bank.db: the image of the last commit
    COMMIT  --- serialize(), write_whole() -->  replaced as a whole, durably
    ROLLBACK, crash, power cut                  untouched

SQLite opens files by itself, which the engine may not. So the connection is one in memory, and at each commit the
database's image (the bytes that SQLite's own file would have) is written through the port. In the lab it thereby lies
on the simulated disk of the node; live it is a file that the ``sqlite3`` program opens. Writing it whole costs time in
proportion to its size: right for a bank of a few accounts, wrong for a real one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from engine.bank.errors import CommitRefused, CommitUncertain, DatabaseClosed, DatabaseUnreadable
from engine.runtime.engine_lock import EngineLock
from engine.runtime.port import Disk, DiskFault, DiskFull

if TYPE_CHECKING:
    from sqlite_utils import Database


class BankDatabase:
    """Opens what the last process committed, or a new, empty database. Raises :class:`DatabaseUnreadable`.

    One transaction is open at a time, as SQLite lets one writer in::

        async with database.transaction():
            database.execute("UPDATE ...")
            ...
            database.commit()      # without it the block ends with a rollback

    Within a transaction write with :meth:`execute` only: some versions of sqlite-utils commit in their own ``insert``
    and ``upsert``.

    :ivar tables: the open connection: sees what the open transaction has written so far.
    :ivar lock: who writes, and who waits for that.
    :ivar commit_count: commits of this process.
    """

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._image = disk.read_whole(path) if disk.exists(path) else b""
        self.tables = _open(self._image, path)
        self.lock = EngineLock("bank database")
        self.commit_count = 0
        self._reader: Database | None = None
        self._is_closed = False

    @property
    def path(self) -> str:
        """Where the image lies, in the node's data folder."""
        return self._path

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever committed."""
        return not self._image

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called, or a failing disk has ended it."""
        return self._is_closed

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return not self._is_closed and self.tables.conn.in_transaction

    # --- transactions ------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[BankDatabase]:
        """Wait for the lock, BEGIN; at the end of the block roll back what was not committed in it."""
        async with self.lock:
            self.begin()
            try:
                yield self
            finally:
                self.rollback()

    def begin(self) -> None:
        """BEGIN. For those who hold :attr:`lock` or need none."""
        assert not self.in_transaction, "one transaction at a time"
        self.execute("BEGIN IMMEDIATE")

    def execute(self, sql: str, parameters: tuple[int | str, ...] | dict[str, Any] = ()) -> sqlite3.Cursor:
        """One statement, in the open transaction. Raises ``sqlite3.IntegrityError`` where a constraint refuses,
        :class:`DatabaseClosed`.
        """
        if self._is_closed:
            raise DatabaseClosed(f"{self._path} is closed: start the process anew")
        return self.tables.execute(sql, parameters)

    def commit(self) -> None:
        """COMMIT: the one moment that survives whatever happens to the process or to the machine's power.

        Raises :class:`CommitRefused` (the disk is full; rolled back) and :class:`CommitUncertain`.
        """
        assert self.in_transaction, "there is nothing to commit"
        self.tables.conn.commit()
        image = self.tables.conn.serialize()
        try:
            self._disk.write_whole(self._path, image)
        except DiskFull as error:
            # The image is written beside the old one first, so the old one is untouched.
            self.tables.conn.close()
            self.tables = _open(self._image, self._path)
            raise CommitRefused(f"the commit was rolled back: {error}") from error
        except DiskFault as error:
            # As a database server does: after a failed sync nobody may go on as if he knew what the disk holds.
            self.close()
            raise CommitUncertain(f"nobody can tell whether it was committed: {error}") from error
        self._image = image
        self.commit_count += 1
        self._forget_reader()

    def rollback(self) -> None:
        """ROLLBACK; nothing happens when no transaction is open."""
        if self.in_transaction:
            self.tables.conn.rollback()

    # --- looking -----------------------------------------------------------------------------------------------------

    def committed(self) -> Database:
        """What another connection would see now: the last commit. For reading only: nothing written to it is kept.

        Raises :class:`DatabaseClosed`: after a commit that is uncertain nobody here knows what the last one is.
        """
        if self._is_closed:
            raise DatabaseClosed(f"{self._path} is closed: start the process anew")
        if self._reader is None:
            self._reader = _open(self._image, self._path)
        return self._reader

    def close(self) -> None:
        """End the process's connection. An open transaction is gone, as in a crash."""
        if not self._is_closed:
            self._is_closed = True
            self._forget_reader()
            self.tables.conn.close()

    def _forget_reader(self) -> None:
        if self._reader is not None:
            self._reader.conn.close()
            self._reader = None


def _open(image: bytes, path: str) -> Database:
    """A connection in memory that begins with ``image``. Raises :class:`DatabaseUnreadable`."""
    # Late: it takes longer to import than all of the engine, and only banks need it.
    from sqlite_utils import Database

    # No implicit BEGIN; and a world may be freed by another thread than the one that ran it.
    connection: Any = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        if image:
            connection.deserialize(image)
        database = Database(connection, execute_plugins=False)
        # Reads the header and the schema: only now SQLite looks at what it was given.
        database.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.Error as error:
        connection.close()
        raise DatabaseUnreadable(f"{path} cannot be opened as a SQLite database: {error}") from error
    return database
