"""The port from the state table to its store; one test suite covers all stores."""

from __future__ import annotations

from typing import Protocol

from engine.idempotence.foundation.record import Claim, IdempotenceRecord, RecordKey, Taking


class RecordStore(Protocol):
    """A store of records. Every method is atomic, and raises :class:`~.errors.StoreUnreachable` if the store does not
    answer.
    """

    async def prepare(self) -> None:
        """Create the tables, if the store has any. Raises :class:`~.errors.SchemaOutdated`."""
        ...

    async def take(self, claim: Claim) -> Taking:
        """Give the record to the claimer, unless another attempt is in progress or the work is done."""
        ...

    async def complete(self, key: RecordKey, owner: str | None, now_ms: int, retention_ms: int) -> bool:
        """Mark the record consumed for ``retention_ms``. Return False if the caller does not own it (any more); nothing
        was changed then. A store that deletes expired records creates a new one if there is no record.

        :param owner: None: any owner, which is how a late finisher overwrites the work of another.
        """
        ...

    async def release(self, key: RecordKey, owner: str | None) -> bool:
        """Delete the record because the work has failed, unless it is consumed. The result and ``owner`` are as for
        ``complete``.
        """
        ...

    async def find(self, key: RecordKey, now_ms: int) -> IdempotenceRecord | None:
        """Return the record, expired or not; None if there is no record."""
        ...

    async def newest(self, scope: str | None, limit: int) -> list[IdempotenceRecord]:
        """Return the newest records of a scope (None: of all scopes), newest first."""
        ...

    async def purge(self, now_ms: int) -> int:
        """Delete consumed records beyond their retention; return how many. A store with a time to live has nothing to
        do.
        """
        ...

    async def free(self, key: RecordKey) -> bool:
        """Delete the record whatever its state: the next delivery does the work. Return False if there was no
        record.
        """
        ...
