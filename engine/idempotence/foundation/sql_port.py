"""The port to a relational database: all that strategies and stores ask of one.

Behind it stand SQLite in the process, any database that SQLAlchemy knows, and the lab's database node. Statements are
of the SQL that all of them speak, with named parameters (``:name``).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

#: What a column or a parameter holds.
SqlValue = str | int | None


class SqlResult(NamedTuple):
    """``rows``: of a query, column name -> value. ``changed``: how many rows a statement has inserted, updated or
    deleted; 0 for a query.
    """

    rows: tuple[Mapping[str, SqlValue], ...]
    changed: int


class SqlSession(Protocol):
    """Where statements can be sent: an open transaction, or a database (each statement is then a transaction)."""

    async def execute(self, statement: str, parameters: Mapping[str, SqlValue] | None = None) -> SqlResult:
        """Raises :class:`~.errors.UniqueViolation`, :class:`~.errors.StoreUnreachable`,
        :class:`~.errors.TransactionLost`.
        """
        ...


class SqlTransaction(SqlSession, Protocol):
    """An open transaction."""

    async def commit(self) -> None:
        """Raises what ``execute`` raises; after :class:`~.errors.StoreUnreachable` nobody here knows how it ended."""
        ...


class SqlDatabase(SqlSession, Protocol):
    """``dialect``: ``sqlite``, ``postgresql``, ``mariadb`` or what else SQLAlchemy calls it."""

    @property
    def dialect(self) -> str: ...

    def transaction(self) -> AbstractAsyncContextManager[SqlTransaction]:
        """BEGIN; at the end of the block what was not committed in it is rolled back. Raises as ``execute``."""
        ...

    async def close(self) -> None:
        """End all connections."""
        ...
