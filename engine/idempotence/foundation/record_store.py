"""What the state table asks of its store; one suite of tests holds all stores to it."""

from __future__ import annotations

from typing import Protocol

from engine.idempotence.foundation.record import Claim, Record, RecordKey, Taking


class RecordStore(Protocol):
    """Every method is atomic, and raises :class:`~.errors.StoreUnreachable` where the store does not answer."""

    async def prepare(self) -> None:
        """Make the tables, where it has any. Raises :class:`~.errors.SchemaOutdated`."""
        ...

    async def take(self, claim: Claim) -> Taking:
        """Make the record the claimer's, if nobody else is at it and it is not done."""
        ...

    async def complete(self, key: RecordKey, owner: str | None, now_ms: int, retention_ms: int) -> bool:
        """Mark it consumed, for so long. False: it is not (any more) the owner's, and nothing was changed. A store that
        lets expired records go makes a new one where there is none.

        :param owner: None: whoever owns it, which is how a late finisher overwrites the work of another.
        """
        ...

    async def release(self, key: RecordKey, owner: str | None) -> bool:
        """Delete it, unless it is consumed: the work has failed. False, and ``owner``: as for ``complete``."""
        ...

    async def find(self, key: RecordKey, now_ms: int) -> Record | None:
        """The record, expired or not; None: there is none."""
        ...

    async def newest(self, scope: str | None, limit: int) -> list[Record]:
        """The newest records of a scope (None: of all), the newest first."""
        ...

    async def purge(self, now_ms: int) -> int:
        """Delete what was consumed and is remembered no more; how many. A store with a time to live has none."""
        ...

    async def free(self, key: RecordKey) -> bool:
        """Delete it whatever it says: the next delivery does the work. False: there was none."""
        ...
