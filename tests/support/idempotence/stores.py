"""What a test of the conformance suite gets: a store, whatever it is, with two processes at it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from engine.idempotence.foundation.record import RecordKey
from engine.idempotence.foundation.record_store import RecordStore
from engine.idempotence.foundation.redis_port import RedisCommands
from engine.idempotence.stores.store_address import TIMEOUT_MS


@dataclass(frozen=True)
class Stores:
    """Two processes at one empty store.

    :ivar let_expire: let the record's time pass, for a store that judges by its own clock.
    """

    first: RecordStore
    second: RecordStore
    let_expire: Callable[[RecordKey], Awaitable[None]]
    #: An SqlDatabase; None for another kind of store.
    database: Any = None
    redis: RedisCommands | None = None


class StoreKind(Protocol):
    """:ivar reports_takeover: whether it distinguishes an expired record from a missing one."""

    reports_takeover: bool

    def run(self, check: Callable[[Stores], Awaitable[None]], timeout_ms: int = TIMEOUT_MS) -> None:
        """Run ``check`` to its end, at an empty store."""
        ...
