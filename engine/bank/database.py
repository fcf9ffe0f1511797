"""A bank's database: a real SQLite database on the node's disk.

::

    open connection (memory)                    disk, through the port
    BEGIN ... UPDATE ... INSERT ...             bank.db: the image of the last commit
    COMMIT  --- serialize(), write_whole() -->  replaced as a whole, durably
    ROLLBACK, crash, power cut                  untouched

SQLite opens files by itself, which the engine must not do. So the connection is in memory, and at each commit the
database's image (the bytes that SQLite's own file would have) is written through the port. In the lab it is stored on
the node's simulated disk; live it is a file that the ``sqlite3`` program opens. Writing it whole takes time in
proportion to its size, which is acceptable for a bank with a few accounts, but not for a real one.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from engine.bank.errors import CommitRefused, CommitUncertain, DatabaseClosed, DatabaseUnreadable
from engine.runtime.engine_lock import EngineLock
from engine.runtime.hidden_packages import hidden_packages
from engine.runtime.port import Disk, DiskFault, DiskFull

if TYPE_CHECKING:
    from sqlite_utils import Database


class BankDatabase:
    """A bank's database: what the last process committed, or a new, empty one. Raises :class:`DatabaseUnreadable`.

    One transaction is open at a time, because SQLite allows one writer::

        async with database.transaction():
            database.execute("UPDATE ...")
            ...
            database.commit()      # without it the block ends with a rollback

    Within a transaction write with :meth:`execute` only: some versions of sqlite-utils commit in their own ``insert``
    and ``upsert``.

    :ivar tables: the open connection, which includes the writes of the open transaction.
    :ivar lock: the lock of the writer.
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
        """Return the path of the image in the node's data folder."""
        return self._path

    @property
    def is_new(self) -> bool:
        """Return whether nothing was ever committed."""
        return not self._image

    @property
    def is_closed(self) -> bool:
        """Return whether ``close`` was called, or a disk fault has closed it."""
        return self._is_closed

    @property
    def in_transaction(self) -> bool:
        """Return whether a transaction is open."""
        return not self._is_closed and self.tables.conn.in_transaction

    # --- transactions ------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[BankDatabase]:
        """Wait for the lock and begin a transaction; at the end of the block roll back what was not committed."""
        async with self.lock:
            self.begin()
            try:
                yield self
            finally:
                self.rollback()

    def begin(self) -> None:
        """Begin a transaction, for callers that have :attr:`lock` or need none."""
        assert not self.in_transaction, "one transaction at a time"
        self.execute("BEGIN IMMEDIATE")

    def execute(self, sql: str, parameters: tuple[int | str, ...] | dict[str, Any] = ()) -> sqlite3.Cursor:
        """Execute one statement in the open transaction.

        Raises ``sqlite3.IntegrityError`` if a constraint refuses it, :class:`DatabaseClosed`.
        """
        if self._is_closed:
            raise DatabaseClosed(f"{self._path} is closed: start the process again")
        return self.tables.execute(sql, parameters)

    def commit(self) -> None:
        """Commit durably: the result survives a crash of the process and of the machine.

        Raises :class:`CommitRefused` (the disk is full; rolled back) and :class:`CommitUncertain`.
        """
        assert self.in_transaction, "there is nothing to commit"
        self.tables.conn.commit()
        image = self.tables.conn.serialize()
        try:
            self._disk.write_whole(self._path, image)
        except DiskFull as error:
            # The image is written next to the old one first, so the old one stays intact.
            self.tables.conn.close()
            self.tables = _open(self._image, self._path)
            raise CommitRefused(f"the commit was rolled back: {error}") from error
        except DiskFault as error:
            # As in a database server: after a failed sync the content of the disk is unknown.
            self.close()
            raise CommitUncertain(f"whether it was committed is unknown: {error}") from error
        self._image = image
        self.commit_count += 1
        self._forget_reader()

    def rollback(self) -> None:
        """Roll back; nothing happens if no transaction is open."""
        if self.in_transaction:
            self.tables.conn.rollback()

    # --- queries -----------------------------------------------------------------------------------------------------

    def committed(self) -> Database:
        """Return a connection with the last commit, as another connection would see it. For reading only: writes are
        not kept.

        Raises :class:`DatabaseClosed`: after an uncertain commit, the last one is unknown here.
        """
        if self._is_closed:
            raise DatabaseClosed(f"{self._path} is closed: start the process again")
        if self._reader is None:
            self._reader = _open(self._image, self._path)
        return self._reader

    def close(self) -> None:
        """Close the process's connection. An open transaction is lost, as in a crash."""
        if not self._is_closed:
            self._is_closed = True
            self._forget_reader()
            self.tables.conn.close()

    def _forget_reader(self) -> None:
        if self._reader is not None:
            self._reader.conn.close()
            self._reader = None


def _open(image: bytes, path: str) -> Database:
    """Open a connection in memory with the content ``image``. Raises :class:`DatabaseUnreadable`."""
    # Late: importing it takes longer than importing all of the engine, and only banks need it. It imports pandas and
    # numpy wherever they are installed, another second and 70 MB, for types of columns that no bank has. Hidden at the
    # first import only: until the block ends, other threads cannot import them either.
    with hidden_packages(*([] if "sqlite_utils" in sys.modules else ["pandas", "numpy"])):
        from sqlite_utils import Database

    # No implicit BEGIN; and another thread than the one that ran a world may free it.
    connection: Any = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        if image:
            connection.deserialize(image)
        database = Database(connection, execute_plugins=False)
        # Reads the header and the schema: SQLite only now validates the content.
        database.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.Error as error:
        connection.close()
        raise DatabaseUnreadable(f"{path} cannot be opened as a SQLite database: {error}") from error
    return database
