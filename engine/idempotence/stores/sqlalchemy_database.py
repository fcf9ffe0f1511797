"""Any database that SQLAlchemy supports, through the user's engine, with the driver that it names.

Drivers block, so each call runs in a thread; a transaction keeps one connection from its first statement to its end. At
most as many connections as threads are used at a time, so that a transaction with a connection always finds a thread
for its commit.

``TransactionLost``, which may be retried, stands for the victim of a deadlock, of a serialization failure, or of a lock
timeout. A transaction in which that has happened, or in PostgreSQL any error, accepts no more statements: MariaDB would
run them in a new transaction, and PostgreSQL answers a COMMIT with a silent rollback.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from engine.idempotence.foundation.errors import IdempotenceError, StoreUnreachable, TransactionLost, UniqueViolation
from engine.idempotence.foundation.sql_port import SqlResult, SqlValue
from engine.idempotence.stores.embedded_sqlite import named_sqlite_error
from engine.idempotence.stores.shown_address import shown_address
from engine.runtime.live.blocking_calls import BlockingCalls

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

_T = TypeVar("_T")

#: As many as a consumer's listeners run concurrently (``consumeThreadMax``).
CONNECTIONS_MAX = 20
#: Timeout for an answer, or for a connection. Longer than the lock timeouts of the databases that :mod:`.store_address`
#: opens; MariaDB's own is 50 s.
TIMEOUT_MS = 60_000

#: SQLSTATEs of PostgreSQL, or their beginnings: the transaction was rolled back and may be retried.
_LOST_STATES = ("40", "25P02", "55P03", "57014")
#: SQLSTATEs when two sessions run CREATE TABLE IF NOT EXISTS simultaneously.
_MADE_BY_ANOTHER = ("42710", "42P07")
_UNREACHABLE_STATES = ("08", "53", "57P", "28", "3D")
#: Error numbers of MariaDB and MySQL: deadlock, lock timeout, changed since it was read, query killed.
_LOST_NUMBERS = (1213, 1205, 1020, 1317)
#: Too many connections, no access (1044, 1045), no such database, shutting down, limits of the user, killed.
_UNREACHABLE_NUMBERS = (1040, 1044, 1045, 1049, 1053, 1203, 1226, 1927)


class SqlAlchemyDatabase:
    """A :class:`~engine.idempotence.foundation.sql_port.SqlDatabase` through SQLAlchemy.

    :param engine: made by ``sqlalchemy.create_engine``; ``close`` disposes of its connections.
    """

    def __init__(self, engine: Engine, connections_max: int = CONNECTIONS_MAX, timeout_ms: int = TIMEOUT_MS) -> None:
        self.engine = engine
        self._name = shown_address(engine.url.render_as_string())
        self._timeout_ms = timeout_ms
        if engine.dialect.name == "sqlite":
            connections_max = 1  # it allows one writer, and not in the order of arrival
        self._free = asyncio.Semaphore(connections_max)
        self._calls = BlockingCalls("glassmq-sqlalchemy", connections_max)
        self._is_closed = False

    @property
    def dialect(self) -> str:
        """Return the dialect. For a server of the MySQL family, MariaDB is recognised only after the first
        connection.
        """
        dialect = self.engine.dialect
        return "mariadb" if getattr(dialect, "is_mariadb", False) else dialect.name

    async def execute(self, statement: str, parameters: Mapping[str, SqlValue] | None = None) -> SqlResult:
        def work() -> SqlResult:
            with self.engine.begin() as connection:
                return _result(connection, statement, parameters)

        async with self._connection_free():
            return await self.call(work)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[SqlAlchemyTransaction]:
        async with self._connection_free():
            transaction = SqlAlchemyTransaction(self)
            try:
                await self.call(transaction.begin)
                yield transaction
            finally:
                with suppress(TimeoutError):
                    await self._calls.run(transaction.end, self._timeout_ms)

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            await self._calls.run(self.engine.dispose)
            self._calls.close()

    async def call(self, work: Callable[[], _T]) -> _T:
        """Run ``work`` in a thread, with errors converted to those of the port."""
        from sqlalchemy.exc import SQLAlchemyError

        if self._is_closed:
            raise StoreUnreachable(f"{self._name} is closed")
        try:
            return await self._calls.run(work, self._timeout_ms)
        except TimeoutError as error:
            raise StoreUnreachable(f"{self._name}: {error}") from error
        except SQLAlchemyError as error:
            if (named := self._named(error)) is None:
                raise
            raise named from error

    @asynccontextmanager
    async def _connection_free(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._timeout_ms / 1_000):
                await self._free.acquire()
        except TimeoutError:
            waited = f"waited {self._timeout_ms} ms for one of the process's connections"
            raise StoreUnreachable(f"{self._name}: {waited}") from None
        try:
            yield
        finally:
            self._free.release()

    def _named(self, error: Exception) -> IdempotenceError | None:
        """Return the port's error; None if the error is about the statement."""
        from sqlalchemy import exc

        if isinstance(error, exc.IntegrityError):
            return UniqueViolation(str(error.orig))
        if isinstance(error, exc.DBAPIError) and driver_code(error.orig) in _MADE_BY_ANOTHER:
            return UniqueViolation(str(error.orig))
        if isinstance(error, exc.TimeoutError):
            return StoreUnreachable(f"{self._name}: {error}")
        if not isinstance(error, exc.DBAPIError):
            return None
        if isinstance(error.orig, sqlite3.Error):
            return named_sqlite_error(error.orig, self._name)
        if is_lost(error.orig):
            return TransactionLost(str(error.orig))
        if error.connection_invalidated or is_unreachable(error.orig):
            return StoreUnreachable(f"{self._name}: {error.orig}")
        return None


class SqlAlchemyTransaction:
    """A transaction, with :meth:`run` for work that is written with SQLAlchemy itself."""

    def __init__(self, database: SqlAlchemyDatabase) -> None:
        self._database = database
        self._connection: Connection | None = None
        #: Why it accepts no more statements.
        self._failure: str | None = None
        self._is_left = False

    async def execute(self, statement: str, parameters: Mapping[str, SqlValue] | None = None) -> SqlResult:
        return await self.run(lambda connection: _result(connection, statement, parameters))

    async def run(self, work: Callable[[Connection], _T]) -> _T:
        """Run ``work`` with the connection, in this transaction and in a thread; ``work`` must not commit or roll back.

        Raises what ``execute`` raises.
        """
        connection = self._connection
        if self._failure is not None or connection is None:
            raise TransactionLost(
                f"the transaction accepts no more statements: {self._failure or 'its block has ended'}"
            )
        try:
            return await self._database.call(lambda: work(connection))
        except Exception as error:
            if isinstance(error, TransactionLost | StoreUnreachable) or self._database.dialect == "postgresql":
                self._failure = f"it has failed ({error})"
            if isinstance(error, StoreUnreachable):
                self._connection = None  # a thread may still wait for its answer: the garbage collector closes it
            raise

    async def commit(self) -> None:
        await self.run(lambda connection: connection.commit())
        self._failure = "it was committed"

    # --- off the loop ------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Note the begin; the first statement begins the transaction."""
        connection = self._database.engine.connect()
        if self._is_left:
            connection.close()
        else:
            self._connection = connection

    def end(self) -> None:
        """Roll back what was not committed, and return the connection to the pool."""
        self._is_left = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _result(connection: Connection, statement: str, parameters: Mapping[str, SqlValue] | None) -> SqlResult:
    from sqlalchemy import text

    result = connection.execute(text(statement), dict(parameters or {}))
    if result.returns_rows:
        return SqlResult(tuple(dict(row) for row in result.mappings()), 0)
    return SqlResult((), max(0, result.rowcount))


# --- errors of drivers ---------------------------------------------------------------------------------------------


def is_lost(error: BaseException | None) -> bool:
    """Return whether the driver reports that the statement or transaction was rolled back and may be retried."""
    code = driver_code(error)
    return code.startswith(_LOST_STATES) if isinstance(code, str) else code in _LOST_NUMBERS


def is_unreachable(error: BaseException | None) -> bool:
    """Return whether the driver reports that the server is unreachable or refuses access."""
    code = driver_code(error)
    if isinstance(code, str):
        return code.startswith(_UNREACHABLE_STATES)
    if code is not None:
        return code == 0 or 2_000 <= code < 3_000 or code in _UNREACHABLE_NUMBERS
    return type(error).__name__ in ("OperationalError", "InterfaceError")


def driver_code(error: BaseException | None) -> str | int | None:
    """Return MariaDB's error number or PostgreSQL's SQLSTATE; None if the error has neither."""
    number = error.args[0] if error is not None and error.args else None
    if isinstance(number, int):
        return number
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    return state if isinstance(state, str) else None
