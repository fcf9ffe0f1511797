"""SQLite in the process: a file, and no server. It is the default, and durable: committed data survives a power cut.

There is one connection, on which one transaction is open at a time, as SQLite allows one writer. A transaction begins
with BEGIN IMMEDIATE: once it has begun it may write without further waiting. Other processes may use the file, too
(WAL): a transaction that finds it locked waits for up to ``busy_timeout_ms``. Transactions of this process wait in
turn, for up to ``turn_timeout_ms``.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from engine.idempotence.foundation.errors import IdempotenceError, StoreUnreachable, TransactionLost, UniqueViolation
from engine.idempotence.foundation.sql_port import SqlResult, SqlValue
from engine.runtime.live.blocking_calls import BlockingCalls

_T = TypeVar("_T")

#: How long a transaction waits for other writers of the file: the default of ``sqlite3.connect``.
BUSY_TIMEOUT_MS = 5_000
#: How long a transaction waits for earlier ones of this process: twenty listeners whose work takes 3 s each.
TURN_TIMEOUT_MS = 60_000
#: SQLite's primary result codes about a statement, not about the file: SQLITE_ERROR, MISMATCH, MISUSE, RANGE.
_OF_STATEMENTS = (1, 20, 21, 25)
#: The snapshot is older than what others have written since (SQLITE_BUSY_SNAPSHOT).
_STALE_SNAPSHOT = 517


class EmbeddedSqlite:
    """An embedded :class:`~engine.idempotence.foundation.sql_port.SqlDatabase`, opened at first use.

    :param path: path of the file, created if it is missing; ``":memory:"``: data lives as long as the object.
    """

    dialect = "sqlite"

    def __init__(
        self, path: str, busy_timeout_ms: int = BUSY_TIMEOUT_MS, turn_timeout_ms: int = TURN_TIMEOUT_MS
    ) -> None:
        self.path = path
        self._busy_timeout_ms = busy_timeout_ms
        self._turn_timeout_ms = turn_timeout_ms
        self._calls = BlockingCalls("glassmq-sqlite", 1)
        self._lock = asyncio.Lock()  # fair: an engine lock goes to the first task that comes back
        self._connection: sqlite3.Connection | None = None
        self._is_closed = False

    async def execute(self, statement: str, parameters: Mapping[str, SqlValue] | None = None) -> SqlResult:
        """Execute a statement, after any open transaction; within a transaction, use the transaction's method."""
        async with self._alone():
            return await self._call(lambda connection: _result(connection, statement, parameters))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[EmbeddedTransaction]:
        async with self._alone():
            transaction = EmbeddedTransaction(self._call)
            try:
                await self._call(lambda connection: connection.execute("BEGIN IMMEDIATE"))
                yield transaction
            finally:
                transaction.is_open = False
                await self._call(lambda connection: connection.rollback())

    async def close(self) -> None:
        async with self._lock:
            if not self._is_closed:
                self._is_closed = True
                await self._calls.run(lambda: self._connection.close() if self._connection else None)
                self._calls.close()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._turn_timeout_ms / 1_000):
                await self._lock.acquire()
        except TimeoutError:
            waited = f"waited {self._turn_timeout_ms} ms for another transaction of this process"
            raise StoreUnreachable(f"SQLite file {self.path}: {waited}") from None
        try:
            yield
        finally:
            self._lock.release()

    async def _call(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        if self._is_closed:
            raise StoreUnreachable(f"SQLite file {self.path} is closed")
        return await self._calls.run(lambda: self._work(work))

    def _work(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run ``work`` in the thread of the connection."""
        with sqlite_errors(f"SQLite file {self.path}"):
            if self._connection is None:
                self._connection = self._open()
            return work(self._connection)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._busy_timeout_ms / 1_000, isolation_level=None, check_same_thread=False
        )
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection


class EmbeddedTransaction:
    """A transaction on the connection.

    :ivar is_open: False once its block has ended.
    """

    def __init__(self, call: Callable[[Callable[[sqlite3.Connection], Any]], Any]) -> None:
        self._call = call
        self.is_open = True

    async def execute(self, statement: str, parameters: Mapping[str, SqlValue] | None = None) -> SqlResult:
        result: SqlResult = await self._call(lambda connection: _result(self._begun(connection), statement, parameters))
        return result

    async def commit(self) -> None:
        await self._call(lambda connection: self._begun(connection).execute("COMMIT"))
        self.is_open = False

    def _begun(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """Return the connection if the transaction is open. SQLite may have rolled it back (a full disk), and a later
        statement would be committed alone.
        """
        if not (self.is_open and connection.in_transaction):
            raise TransactionLost("the transaction has ended, or SQLite has rolled it back after an error")
        return connection


def _result(connection: sqlite3.Connection, statement: str, parameters: Mapping[str, SqlValue] | None) -> SqlResult:
    cursor = connection.execute(statement, parameters or {})
    if cursor.description is None:
        return SqlResult((), max(0, cursor.rowcount))
    return SqlResult(tuple(dict(row) for row in cursor.fetchall()), 0)


@contextmanager
def sqlite_errors(where: str) -> Iterator[None]:
    """Convert errors of ``sqlite3`` to those of the port; errors of a wrong statement stay as they are."""
    try:
        yield
    except sqlite3.Error as error:
        if (named := named_sqlite_error(error, where)) is None:
            raise
        raise named from error


def named_sqlite_error(error: sqlite3.Error, where: str) -> IdempotenceError | None:
    """Return the port's error; None if the error is about the statement."""
    if isinstance(error, sqlite3.IntegrityError):
        return UniqueViolation(str(error))
    code = getattr(error, "sqlite_errorcode", None)
    if code == _STALE_SNAPSHOT:
        return TransactionLost(str(error))
    if code is None or code & 0xFF in _OF_STATEMENTS:
        return None
    return StoreUnreachable(f"{where}: {error}")
