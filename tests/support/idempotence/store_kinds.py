"""Every store of idempotence records that the conformance suite runs over, and how to look into it.

A further store is one more entry in :data:`KINDS`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.databases.real_servers import MariaDbServer, PostgreSqlServer, RealRedisServer, RealServer, ServerMissing
from engine.idempotence.foundation.record import RecordKey
from engine.idempotence.foundation.redis_port import RedisCommands
from engine.idempotence.stores.redis_connection import RedisConnection
from engine.idempotence.stores.redis_record_store import PREFIX
from engine.idempotence.stores.store_address import TIMEOUT_MS, OpenStore, open_store
from tests.support.idempotence.lab_kinds import LabRedisKind, LabSqlKind
from tests.support.idempotence.stores import StoreKind as StoreKind  # noqa: PLC0414 (tests find it here)
from tests.support.idempotence.stores import Stores as Stores  # noqa: PLC0414 (tests find it here)

#: Set in CI: a missing server is a failure there, not a skipped test.
REQUIRE_VARIABLE = "GLASSMQ_REQUIRE_DATABASES"


class AtAddress:
    """A store of the world outside, by its address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.reports_takeover = not address.startswith("redis:")

    def run(self, check: Callable[[Stores], Awaitable[None]], timeout_ms: int = TIMEOUT_MS) -> None:
        asyncio.run(self._run(check, timeout_ms))

    async def _run(self, check: Callable[[Stores], Awaitable[None]], timeout_ms: int) -> None:
        async with open_store(self.address, timeout_ms) as first, open_store(self.address, timeout_ms) as second:
            await _clear(first)
            await first.records.prepare()
            redis = first.connector if isinstance(first.connector, RedisConnection) else None
            await check(Stores(first.records, second.records, _expire(redis), first.database, redis))


async def _clear(store: OpenStore) -> None:
    if isinstance(store.connector, RedisConnection):
        await store.connector.execute_command("FLUSHDB")
        return
    assert store.database is not None
    for table in ("idempotence_record", "idempotence_schema", "idempotence_mark", "orders"):
        await store.database.execute(f"DROP TABLE IF EXISTS {table}")


def _expire(redis: RedisCommands | None) -> Callable[[RecordKey], Awaitable[None]]:
    async def expire(key: RecordKey) -> None:
        if redis is not None:
            await redis.execute_command("PEXPIRE", f"{PREFIX}{key.scope}:{key.business_key}", 0)

    return expire


class RealServers:
    """Started when a test first asks for one, ended with the process."""

    def __init__(self, ends: ExitStack) -> None:
        self._ends = ends
        self._running: dict[type[RealServer], RealServer] = {}

    def get(self, kind: type[RealServer]) -> RealServer:
        """The one that all tests share: none may end it."""
        if kind not in self._running:
            self._running[kind] = self._ends.enter_context(self.start(kind))
        return self._running[kind]

    def start(self, kind: type[RealServer]) -> RealServer:
        """Start a server of the test's own, which it ends. Skips the test where it is not installed."""
        try:
            return kind()
        except ServerMissing as missing:
            if os.environ.get(REQUIRE_VARIABLE):
                pytest.fail(f"{REQUIRE_VARIABLE} is set, but {missing}")
            pytest.skip(str(missing))


@pytest.fixture(scope="session")
def real_servers() -> Iterator[RealServers]:
    with ExitStack() as ends:
        yield RealServers(ends)


def _served_by(server: type[RealServer]) -> Callable[[pytest.FixtureRequest, Path], StoreKind]:
    return lambda request, _folder: AtAddress(request.getfixturevalue("real_servers").get(server).url)


KINDS: dict[str, Callable[[pytest.FixtureRequest, Path], StoreKind]] = {
    "embedded-sqlite": lambda _, folder: AtAddress(f"sqlite:{folder}/records.db"),
    "sqlalchemy-sqlite": lambda _, folder: AtAddress(f"sqlite+pysqlite:///{folder}/records.db"),
    "lab-sql": lambda _, folder: LabSqlKind(),
    "lab-redis": lambda _, folder: LabRedisKind(),
    "redis": _served_by(RealRedisServer),
    "postgresql": _served_by(PostgreSqlServer),
    "mariadb": _served_by(MariaDbServer),
}
#: Those that need a server, which is of the tier ``rest``.
_SERVED = ("redis", "postgresql", "mariadb")


def kinds(*, but: tuple[str, ...] = ()) -> list[object]:
    """For ``pytest.fixture(params=...)``."""
    return [
        pytest.param(name, marks=pytest.mark.databases if name in _SERVED else ()) for name in KINDS if name not in but
    ]
