"""The port to a relational database: everything that strategies and stores need from one.

It is implemented by SQLite in the process, any database that SQLAlchemy supports, and the lab's database node.
Statements use the SQL common to all of them, with named parameters (``:name``).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

#: Value of a column or a parameter.
SqlValue = str | int | None


class SqlResult(NamedTuple):
    """Result of a statement. ``rows``: of a query, column name -> value. ``changed``: number of rows inserted, updated
    or deleted; 0 for a query.
    """

    rows: tuple[Mapping[str, SqlValue], ...]
    changed: int


class SqlSession(Protocol):
    """Anything that accepts statements: an open transaction, or a database (each statement is then a transaction)."""

    async def execute(self, statement: str, parameters: Mapping[str, SqlValue] | None = None) -> SqlResult:
        """Execute a statement. Raises :class:`~.errors.UniqueViolation`, :class:`~.errors.StoreUnreachable`,
        :class:`~.errors.TransactionLost`.
        """
        ...


class SqlTransaction(SqlSession, Protocol):
    """An open transaction."""

    async def commit(self) -> None:
        """Commit. Raises what ``execute`` raises; after :class:`~.errors.StoreUnreachable` the outcome is unknown."""
        ...


class SqlDatabase(SqlSession, Protocol):
    """A database. ``dialect``: ``sqlite``, ``postgresql``, ``mariadb`` or another of SQLAlchemy's names."""

    @property
    def dialect(self) -> str: ...

    def transaction(self) -> AbstractAsyncContextManager[SqlTransaction]:
        """Begin a transaction; at the end of the block, what was not committed is rolled back. Raises what ``execute``
        raises.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
